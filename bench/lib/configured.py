"""The file of a guard, or of a host of disks."""
import json


def configured(path, settings, *disks):
    """Writes settings by key, as `{"control.max_limit": 8}`, and those of each disk; the words that name the file."""
    def lines(table):
        return "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
    with open(path, "w", encoding="utf-8") as file:
        file.write(lines(settings) + "".join("[[disk]]\n" + lines(disk) for disk in disks))
    return ["--config", path]
