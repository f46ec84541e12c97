//! How a server would make a recorded statement, with the values that it was recorded with.

use super::recording::{Place, Recording, SessionIndex};
use evenkeel_site::server::Control;
use evenkeel_wire::Field;
use evenkeel_wire::relay::CommandKind;

const INIT_DB: u8 = 2;
const PREPARE: u8 = 0x16;

/// The plan as the server writes it, as JSON; `None` where it says none. `sql` is the text of command `number`, which may be an
/// execution.
pub fn explain<'a>(
    recording: &'a Recording,
    control: &mut Control,
    number: u64,
    sql: &str,
) -> Option<String> {
    let explained = format!("EXPLAIN FORMAT=JSON {sql}");
    let is_it = |place: &&Place| u64::from(place.number) == number;
    let find = |session: &'a SessionIndex| Some((session, session.commands.iter().find(is_it)?));
    let (session, place) = recording.sessions().iter().find_map(find)?;
    // A server may call a function to plan a statement, and a function may write.
    control.exec("SET SESSION TRANSACTION READ ONLY").ok()?;
    if !session.database.is_empty() {
        control.command(&[&[INIT_DB], &session.database[..]].concat(), None).ok()?;
    }
    let mut buffer = Vec::new();
    let mut command = recording.read(place, &mut buffer).ok()?.command.to_vec();
    if CommandKind::of(*command.first()?) != CommandKind::Execute {
        return control.query_value(&explained).ok()?;
    }
    let prepared = control.command(&[&[PREPARE], explained.as_bytes()].concat(), None).ok()?;
    command.get_mut(1..5)?.copy_from_slice(&prepared.statement()?.to_le_bytes());
    // No cursor.
    *command.get_mut(5)? = 0;
    let mut plan = None;
    let mut keep = |row: &evenkeel_wire::Row<'_>| {
        if let Some(Field::Text(text)) = row.fields().next().transpose()? {
            plan = Some(String::from_utf8_lossy(text).into_owned());
        }
        Ok(())
    };
    control.command(&command, Some(&mut keep)).ok()?;
    plan
}
