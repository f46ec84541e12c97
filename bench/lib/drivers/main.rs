//! What mysql_async prints of the statements that all drivers run. Usage: check HOST PORT TLS FILE
use mysql_async::prelude::*;
use mysql_async::{Conn, Error, OptsBuilder, Params, SslOpts, TxOpts, Value};

fn show(title: &str, text: &str) {
    let title: String = title.chars().take(60).collect();
    if text.len() < 2000 {
        return println!("{title} {text}");
    }
    let sum = text.bytes().fold(5381_u64, |sum, byte| sum.wrapping_mul(33) ^ u64::from(byte));
    println!("{title} {} {sum:x}", text.len());
}

async fn run(conn: &mut Conn, sql: &str, values: Option<Params>) {
    let done: Result<(), Error> = async {
        macro_rules! all {
            ($result:expr) => {{
                let mut result = $result;
                while !result.is_empty() {
                    // Of a prepared SELECT this is the number of the statement, which the server counts over all sessions.
                    let changed = if result.columns_ref().is_empty() { result.affected_rows() } else { 0 };
                    let (last, info) = (result.last_insert_id(), result.info().into_owned());
                    let rows: Vec<mysql_async::Row> = result.collect().await?;
                    let rows: Vec<Vec<Value>> = rows.into_iter().map(mysql_async::Row::unwrap).collect();
                    show(sql, &format!("{changed} {last:?} {info} {rows:?}"));
                }
                result.drop_result().await
            }};
        }
        match values {
            Some(values) => all!(conn.exec_iter(sql, values).await?),
            None => all!(conn.query_iter(sql).await?),
        }
    }
    .await;
    match done {
        Ok(()) => show(sql, "done"),
        Err(Error::Server(error)) => show(sql, &format!("{error:?}")),
        Err(error) => show(sql, &format!("{error}")),
    }
}

async fn everything(conn: &mut Conn, file: &str) -> Result<(), Error> {
    run(conn, "DROP TABLE IF EXISTS types", None).await;
    run(conn, "CREATE TABLE types (id INT PRIMARY KEY AUTO_INCREMENT, d DECIMAL(30,10), t DATETIME(6), j JSON, b BLOB, s VARCHAR(200) CHARACTER SET utf8mb4, f DOUBLE, u BIGINT UNSIGNED, e ENUM('a','b'))", None).await;
    let bytes: Vec<u8> = (0..=255).collect();
    let row: Vec<Value> = vec!["12345678901234567890.0123456789".into(), "2026-02-28 23:59:59.999999".into(), r#"{"a": [1, null]}"#.into(), bytes.into(), "dråpe 雨 🌧".into(), (-0.1).into(), u64::MAX.into(), "b".into()];
    let insert = "INSERT INTO types (d, t, j, b, s, f, u, e) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    run(conn, insert, Some(Params::Positional(row))).await;
    run(conn, insert, Some(Params::Positional(vec![Value::NULL; 8]))).await;
    run(conn, "SELECT * FROM types", None).await;
    run(conn, "SELECT * FROM types WHERE id > ?", Some((0,).into())).await;
    run(conn, "CALL report(5)", None).await;
    run(conn, "CALL report(?)", Some((5,).into())).await;
    for sql in ["SELEC", "SELECT * FROM nowhere", "SELECT NULL, '', 1.50", "INSERT INTO types (id) VALUES (1)", "SELECT 1; SELECT 2, 3; DO 1; SELECT nothing", "SELECT REPEAT('x', 20000000)"] {
        run(conn, sql, None).await;
    }
    run(conn, "SELECT SHA2(?, 256), LENGTH(?)", Some(("y".repeat(20_000_000), "z".repeat(17_000_000)).into())).await;
    let mut transaction = conn.start_transaction(TxOpts::default()).await?;
    transaction.query_drop("DELETE FROM types").await?;
    transaction.query_drop(format!("LOAD DATA LOCAL INFILE '{file}' INTO TABLE copy FIELDS TERMINATED BY ','")).await?;
    let sums: Option<(u64, Option<u64>)> = transaction.query_first("SELECT COUNT(*), SUM(CRC32(words)) FROM copy").await?;
    show("loaded", &format!("{sums:?}"));
    transaction.rollback().await?;
    run(conn, "SELECT COUNT(*) FROM types", None).await;
    show("reset", &format!("{:?}", conn.reset().await));
    run(conn, "SELECT DATABASE()", None).await;
    conn.ping().await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let [_, host, port, tls, file] = <[String; 5]>::try_from(std::env::args().collect::<Vec<_>>()).expect("four arguments");
    let ssl = (tls == "tls").then(|| SslOpts::default().with_danger_accept_invalid_certs(true).with_danger_skip_domain_validation(true));
    let handler = mysql_async::WhiteListFsHandler::new([&file]);
    let options = OptsBuilder::default().ip_or_hostname(host).tcp_port(port.parse().expect("a port")).user(Some("app")).pass(Some("secret")).db_name(Some("shop")).prefer_socket(false).ssl_opts(ssl).max_allowed_packet(Some(64 << 20)).local_infile_handler(Some(handler));
    let mut conn = Conn::new(options.clone()).await?;
    let version: Option<(String, String)> = conn.query_first("SHOW SESSION STATUS LIKE 'Ssl_version'").await?;
    println!("tls {}", version.is_some_and(|(_, version)| !version.is_empty()));
    everything(&mut conn, &file).await?;
    let work = (0..4).map(|_| {
        let options = options.clone();
        tokio::spawn(async move {
            let mut conn = Conn::new(options).await?;
            for _ in 0..25 {
                conn.exec_drop("UPDATE counter SET n = n + ? WHERE id = 1", (1,)).await?;
            }
            conn.disconnect().await
        })
    });
    for task in work.collect::<Vec<_>>() {
        task.await.expect("a task ends")?;
    }
    run(&mut conn, "SELECT n FROM counter", None).await;
    conn.disconnect().await
}
