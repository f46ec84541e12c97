//! What passes through a guard is what passes without it.

use super::proxy::{Proxy, text};
use super::server::Server;

#[test]
fn the_command_line_client_sees_the_same_with_and_without_a_guard() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, |plan| plan.limit = 2);
    let file = server.file("rows.csv");
    let lines: String = (0..50_000).map(|row| format!("{row},some text of row {row}\n")).collect();
    std::fs::write(&file, lines).expect("a file can be written");
    let load = format!(
        "CREATE TABLE shop.copy (id INT PRIMARY KEY, words VARCHAR(100)); \
         LOAD DATA LOCAL INFILE '{}' INTO TABLE shop.copy FIELDS TERMINATED BY ','; \
         SELECT COUNT(*), SUM(CRC32(words)) FROM shop.copy; DROP TABLE shop.copy;",
        file.display()
    );
    let sums = format!("SELECT COUNT(*), SUM(CRC32(words)) FROM (SELECT {} ) x", "1 id, 'a' words");
    for sql in [
        "SELECT 1; SELECT 2, 3; SELECT * FROM shop.item; CALL shop.report(5, @x); SELECT @x",
        "SHOW PROCEDURE STATUS LIKE 'report'",
        "SELECT REPEAT('x', 20000000)",
        "SELECT LENGTH(REPEAT('x', 20000000)) FROM shop.item",
        "SET sql_mode = 'ANSI'; SELECT @@sql_mode; PREPARE s FROM 'SELECT ? + 1'; SET @a = 4; EXECUTE s USING @a",
        &load,
        &sums,
    ] {
        let arguments = ["--local-infile=1", "--max-allowed-packet=64M"];
        let port = server.address();
        let port = port.rsplit(':').next().expect("a port");
        let direct = super::proxy::mariadb(&["-h", "127.0.0.1", "-P", port, "-u", "app"], &arguments, sql);
        assert!(proxy.rows(&arguments, sql) == text(&direct), "{sql} differs");
    }
    proxy.becomes_empty();
    proxy.stop();
}
