// What mysql2 prints of the statements that all drivers run. Usage: mysql2.js HOST PORT TLS FILE
const fs = require("fs"), crypto = require("crypto"), mysql = require("mysql2/promise");
const [host, port, tls, file] = process.argv.slice(2);
const options = {
  host, port: Number(port), user: "app", password: "secret", database: "shop", multipleStatements: true,
  supportBigNumbers: true, bigNumberStrings: true, infileStreamFactory: (path) => fs.createReadStream(path),
  ssl: tls === "tls" ? { rejectUnauthorized: false } : undefined,
};

function show(title, value) {
  const text = JSON.stringify(value, (_, item) => (typeof item === "bigint" ? item.toString() : item));
  const digest = () => `${text.length} ${crypto.createHash("md5").update(text).digest("hex")}`;
  console.log(title.slice(0, 60), text.length < 2000 ? text : digest());
}

async function run(connection, sql, values, method = "query") {
  try {
    const [rows, fields] = await connection[method](sql, values);
    show(sql, [rows, (fields || []).map((field) => field && [field.name, field.columnType])]);
  } catch (error) {
    show(sql, [error.code, error.errno, error.sqlState, error.sqlMessage]);
  }
}

async function everything(connection) {
  const [[cipher]] = await connection.query("SHOW SESSION STATUS LIKE 'Ssl_version'");
  console.log("tls", cipher.Value !== "");
  await run(connection, "DROP TABLE IF EXISTS types");
  await run(connection, "CREATE TABLE types (id INT PRIMARY KEY AUTO_INCREMENT, d DECIMAL(30,10), t DATETIME(6), j JSON, b BLOB, s VARCHAR(200) CHARACTER SET utf8mb4, f DOUBLE, u BIGINT UNSIGNED, e ENUM('a','b'))");
  const row = ["12345678901234567890.0123456789", "2026-02-28 23:59:59.999999", '{"a": [1, null]}', Buffer.from([...Array(256).keys()]), "dråpe 雨 🌧", -0.1, "18446744073709551615", "b"];
  const insert = "INSERT INTO types (d, t, j, b, s, f, u, e) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
  for (const method of ["query", "execute"]) {
    await run(connection, insert, row, method);
    await run(connection, insert, row.map(() => null), method);
    await run(connection, "SELECT * FROM types WHERE id > ?", [0], method);
    await run(connection, "CALL report(?)", [5], method);
    await run(connection, "SELECT ? AS a, LENGTH(?) AS b", ["y".repeat(100), "z".repeat(20000000)], method);
    await run(connection, "SELECT REPEAT('x', 20000000) AS a", undefined, method);
    await run(connection, "SELECT * FROM nowhere WHERE a = ?", [1], method);
  }
  await connection.beginTransaction();
  await run(connection, "DELETE FROM types");
  await connection.rollback();
  await run(connection, "SELECT COUNT(*) FROM types");
  for (const sql of ["SELEC", "INSERT INTO types (id) VALUES (1)", "SELECT 1; SELECT 2, 3; DO 1; SELECT nothing; SELECT 5",
    "SELECT 1; DO 0; SELECT NULL, ''"]) await run(connection, sql);
  await connection.beginTransaction();
  await run(connection, `LOAD DATA LOCAL INFILE '${file}' INTO TABLE copy FIELDS TERMINATED BY ','`);
  await run(connection, "SELECT COUNT(*), SUM(CRC32(words)) FROM copy");
  await connection.rollback();
  // Written one after the other without waiting for answers.
  const results = await Promise.all([...Array(40).keys()].map((n) => connection.query("SELECT ? * 2 AS n", [n])));
  show("many", results.map(([rows]) => rows));
  await connection.ping();
  await connection.changeUser({ database: "mysql" });
  await run(connection, "SELECT DATABASE()");
}

async function together() {
  await Promise.all([1, 2, 3, 4].map(async () => {
    const connection = await mysql.createConnection(options);
    for (let n = 0; n < 25; n++) {
      await connection.beginTransaction();
      await connection.execute("UPDATE counter SET n = n + 1 WHERE id = 1");
      await connection.commit();
    }
    await connection.end();
  }));
}

(async () => {
  const connection = await mysql.createConnection(options);
  await everything(connection);
  await together();
  await run(connection, "SELECT n FROM shop.counter");
  await connection.end();
})().catch((error) => { console.log("failed", error.message); process.exit(1); });
