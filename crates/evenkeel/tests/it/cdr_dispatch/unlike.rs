//! Servers, tables and accounts that are not as most are: no column and no record goes unseen.

use super::{DAY, Desk};
use crate::cli::refused;

#[test]
fn a_server_that_limits_the_rows_of_answers_costs_no_column_and_one_called_day_is_not_taken_for_the_day() {
    let desk = Desk::up();
    desk.fresh("charge INT, day TINYINT, ");
    desk.load(1, 500, DAY);
    desk.sql("UPDATE calls SET charge = seq");
    // Three columns are named first, and the charge comes after them.
    desk.sql("SET GLOBAL sql_select_limit = 3");
    let done = desk.dispatch(&[]);
    desk.sql("SET GLOBAL sql_select_limit = DEFAULT");
    assert_eq!(done["records"].as_u64(), Some(500), "{done}");
    assert_eq!(desk.tables(), ["calls", "calls_20260731", "calls_20260801"]);
    desk.audit("limited");
    let lost = "SELECT COUNT(*) FROM calls_20260801 WHERE NOT charge <=> seq";
    assert_eq!(desk.sql(lost), "0");
}

#[test]
fn an_account_that_may_not_see_triggers_or_columns_is_refused() {
    let desk = Desk::up();
    desk.fresh("");
    desk.load(1, 10, DAY);
    let writes = "INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP";
    for host in ["'%'", "localhost"] {
        desk.server.sql(&format!(
            "CREATE USER small@{host}; GRANT SELECT, {writes} ON cdr.* TO small@{host}; \
             CREATE USER blind@{host}; GRANT TRIGGER, {writes} ON cdr.* TO blind@{host}; \
             GRANT SELECT (seq, started) ON cdr.calls TO blind@{host}"
        ));
    }
    for (user, words) in [("small", "GRANT TRIGGER on the database"), ("blind", "SELECT command denied")] {
        let url = format!("mysql://{user}@{}/cdr", desk.server.address());
        let told = refused(&desk.home, &desk.words(&url));
        assert!(told.contains(words), "{user}: {told}");
    }
    assert_eq!(desk.count("calls"), 10);
}
