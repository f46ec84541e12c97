//! What a reset command knows of the server that it is to reset.

use crate::guard::server::Server;
use crate::sandbox::measured;
use std::fs;

#[test]
fn a_reset_command_is_told_which_server_and_not_its_password() {
    let server = Server::up(&[]);
    server.sql("CREATE USER other@'%' IDENTIFIED BY 's3cret'; GRANT ALL ON *.* TO other@'%'");
    let (workload, note) = (server.workload("ask", &[("one", "SELECT 1")]), server.file("note"));
    let address = server.address();
    let reset = format!("echo \"$EVENKEEL_TARGET $EVENKEEL_URL\" >>{}; env >>{0}.all", note.display());
    let url = format!("mysql://other:s3cret@{address}/shop");
    let profile = ["-q", "profile", &url, "--reset-command", &reset, "--workload", &workload];
    let flags = ["--rate", "20", "--repeats", "1", "--duration", "1s", "--warm-up", "0s"];
    measured(&server.file("home"), &[&profile[..], &flags].concat());
    let told = fs::read_to_string(&note).expect("a note");
    assert_eq!(told.lines().next(), Some(format!("{address} mysql://other@{address}/shop").as_str()));
    let all = fs::read_to_string(server.file("note.all")).expect("an environment");
    assert!(!all.contains("s3cret"), "{all}");
}
