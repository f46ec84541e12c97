"""What a Python driver prints of the statements that all drivers run. Usage: dbapi.py MODULE HOST PORT TLS FILE"""
import datetime
import decimal
import hashlib
import importlib
import sys
import threading

NAME, HOST, PORT, TLS, FILE = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "tls", sys.argv[5]
BYTES = bytes(range(256))
MARK = "%s"


def connect():
    common = {"host": HOST, "port": PORT, "user": "app", "password": "secret", "database": "shop"}
    if NAME.startswith("mysql.connector"):
        import mysql.connector
        return mysql.connector.connect(**common, use_pure=NAME.endswith("pure"), allow_local_infile=True,
                                       ssl_disabled=not TLS, autocommit=False, collation="utf8mb4_general_ci")
    module = importlib.import_module(NAME)
    if NAME == "pymysql":
        common.update({"ssl": {"verify_mode": None, "check_hostname": False}} if TLS else {"ssl_disabled": True})
        common["max_allowed_packet"] = 64 << 20
    else:
        common["ssl_mode"] = "REQUIRED" if TLS else "DISABLED"
    return module.connect(**common, charset="utf8mb4", local_infile=True)


def show(title, rows):
    text = repr(rows)
    print(title, text if len(text) < 2000 else (len(text), hashlib.md5(text.encode()).hexdigest()))


def run(cursor, sql, values=None):
    """Runs one statement and prints all that comes of it."""
    try:
        cursor.execute(sql, values) if values is not None else cursor.execute(sql)
        while True:
            rows = cursor.fetchall() if cursor.description else None
            names = [column[:2] for column in cursor.description] if cursor.description else None
            show(sql[:60], (names, rows, cursor.rowcount, cursor.lastrowid))
            if not getattr(cursor, "nextset", lambda: None)():
                break
    except Exception as error:  # What a driver says of an error is part of what is compared.
        show(sql[:60], (type(error).__name__, error.args))


def everything(connection):
    cursor = connection.cursor()
    cipher = "SHOW SESSION STATUS LIKE 'Ssl_version'"
    cursor.execute(cipher)
    print("tls", bool(cursor.fetchall()[0][1]))
    run(cursor, "DROP TABLE IF EXISTS types")
    run(cursor, "CREATE TABLE types (id INT PRIMARY KEY AUTO_INCREMENT, d DECIMAL(30,10), t DATETIME(6), j JSON, b BLOB, "
                "s VARCHAR(200) CHARACTER SET utf8mb4, f DOUBLE, u BIGINT UNSIGNED, y YEAR, e ENUM('a','b'))")
    row = (decimal.Decimal("12345678901234567890.0123456789"), datetime.datetime(2026, 2, 28, 23, 59, 59, 999999),
           '{"a": [1, null]}', BYTES, "dråpe 雨 🌧", -0.1, 2 ** 64 - 1, 2026, "b")
    insert = f"INSERT INTO types (d, t, j, b, s, f, u, y, e) VALUES ({', '.join([MARK] * 9)})"
    run(cursor, insert, row)
    run(cursor, insert, (None,) * 9)
    cursor.executemany(insert, [row] * 50)
    print("executemany", cursor.rowcount)
    run(cursor, "SELECT * FROM types WHERE id < 4")
    run(cursor, f"SELECT * FROM types WHERE id >= {MARK} AND s IS NOT NULL", (2,))
    connection.commit()
    run(cursor, "DELETE FROM types")
    connection.rollback()
    run(cursor, "SELECT COUNT(*) FROM types")
    run(cursor, "UPDATE types SET f = 2 WHERE id = 1")
    connection.commit()
    for sql in ("SELEC", "SELECT * FROM nowhere", "INSERT INTO types (id) VALUES (1)", "SELECT NULL, '', 1.50",
                "SELECT REPEAT('x', 20000000)", "SELECT * FROM types WHERE id < 0", "CALL report(5)"):
        run(cursor, sql)
        cursor.close()
        cursor = connection.cursor()
    connection.rollback()
    run(cursor, f"SELECT SHA2({MARK}, 256), LENGTH({MARK})", ("y" * 20_000_000, "z" * 17_000_000))
    run(cursor, f"LOAD DATA LOCAL INFILE '{FILE}' INTO TABLE copy FIELDS TERMINATED BY ','")
    run(cursor, "SHOW COUNT(*) WARNINGS")
    run(cursor, "SELECT COUNT(*), SUM(CRC32(words)) FROM copy")
    connection.rollback()
    connection.ping()
    for name in ("reset_connection", "cmd_reset_connection"):
        if NAME.endswith("pure") and hasattr(connection, name):
            getattr(connection, name)()
            run(connection.cursor(), "SELECT @@autocommit, DATABASE()")


def prepared(connection):
    """The binary protocol, which one of these drivers has."""
    cursor = connection.cursor(prepared=True)
    for first in (1, 2, 3):
        cursor.execute("SELECT id, d, t, j, b, s, f, u, e FROM types WHERE id = %s", (first,))
        show("prepared", cursor.fetchall())
    cursor.execute("SELECT ?, LENGTH(?)", ("é", BYTES * 70_000))
    show("prepared", cursor.fetchall())


def together():
    """Sessions side by side whose increments must all be there."""
    def work():
        connection = connect()
        cursor = connection.cursor()
        for _ in range(25):
            cursor.execute("UPDATE counter SET n = n + 1 WHERE id = 1")
            connection.commit()
        connection.close()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


first = connect()
everything(first)
if NAME.startswith("mysql.connector"):
    prepared(first)
together()
first.rollback()
run(first.cursor(), "SELECT n FROM counter")
first.close()
