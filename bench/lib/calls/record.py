"""What a record says, cut out of its bytes here and by nothing of ours: all of its fields in the form in which a server prints a row.

Text is without the blanks around it, a number without zeroes in front, a decimal without those behind, and a blank time or number is NULL.
A client in batch mode escapes backslashes, and so does this.
"""
# Where each field begins and ends, and what it is.
FIELDS = (("rectype", 0, 2, "text"), ("seq", 2, 12, "integer"), ("calling", 12, 27, "text"), ("called", 27, 42, "text"),
          ("imsi", 42, 57, "text"), ("imei", 57, 72, "text"), ("start", 72, 86, "time"), ("answer", 86, 100, "time"),
          ("end", 100, 114, "time"), ("seconds", 114, 120, "integer"), ("cell", 120, 130, "text"), ("msc", 130, 142, "text"),
          ("trunk_in", 142, 149, "text"), ("trunk_out", 149, 156, "text"), ("cause", 156, 159, "integer"),
          ("service", 159, 161, "integer"), ("amount", 161, 171, "decimal"), ("roaming", 171, 172, "text"))
NAMES = tuple(name for name, *_ in FIELDS)
START = NAMES.index("start")
AMOUNT = NAMES.index("amount")
NUMBERS = tuple(number for number, (*_, kind) in enumerate(FIELDS) if kind == "integer")


def of_record(record):
    """The row of a record of fixed width."""
    return row([record[begin:end].strip(b" ") for _, begin, end, _ in FIELDS], [kind != "text" for *_, kind in FIELDS])


def of_fields(fields):
    """The row of a converted line; its NULL is \\N."""
    return row([b"" if field == b"\\N" else field for field in fields], [field == b"\\N" for field in fields])


def row(fields, nullable):
    for place in NUMBERS:
        fields[place] = fields[place] and (fields[place].lstrip(b"0") or b"0")
    whole, _, rest = fields[AMOUNT].partition(b".")
    fields[AMOUNT] = fields[AMOUNT] and (whole.lstrip(b"0") or b"0") + b"." + rest.rstrip(b"0")
    return b"\t".join([field if field or not null else b"NULL" for field, null in zip(fields, nullable)]).replace(b"\\", b"\\\\")


def select(table):
    """The statement whose answer a client prints in that form, with the day of `start` left to the reader."""
    def column(name, kind):
        if kind == "time":
            return f"DATE_FORMAT(`{name}`, '%Y%m%d%H%i%s')"
        return f"TRIM(TRAILING '0' FROM `{name}`)" if kind == "decimal" else f"`{name}`"
    return f"SELECT {', '.join(column(name, kind) for name, _, _, kind in FIELDS)} FROM `{table}`"
