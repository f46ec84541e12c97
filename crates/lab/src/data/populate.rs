//! Filling a database with a data set.

use super::schema::Indexes;
use super::session::{DataError, DataProgress, Result, Tally, Workplace, finish_filled};
use super::set::Table;
use super::stamp::{DataSpec, Stamp, State, Via, database_of};
use super::stream::Content;
use super::tpcw::Date;
use super::{session, ways};
use evenkeel_os::Stop;
use evenkeel_os::clock;
use evenkeel_site::server::{Control, Target};
use std::fmt::Display;

/// Makes sure that the target's database holds the data set, and returns its stamp.
///
/// A data set that is there already is reused; a different, half-finished or changed one, and tables that
/// are not ours, are refused and left alone. A stop, an error or a kill leaves a half-finished set
/// that [`check`] recognises and [`super::remove`] drops.
pub fn populate(
    target: &Target,
    spec: &DataSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Stamp> {
    let place = Workplace { stop: stop.clone(), ..Workplace::new(target, None, spec.set.name())? };
    let mut control = place.connect_or_create()?;
    place.lock(&mut control)?;
    match check(&mut control, spec) {
        Err(DataError::Missing { .. }) => build(&place, &mut control, spec, stop, progress),
        found => found,
    }
}

/// The same on a server that nobody else has: what a stop or a kill left half finished there is dropped and made again.
pub fn populate_own(
    target: &Target,
    spec: &DataSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Stamp> {
    match populate(target, spec, stop, progress) {
        Err(DataError::HalfFinished { database }) => {
            remove(target, Some(&database))?;
            populate(target, spec, stop, progress)
        }
        filled => filled,
    }
}

fn build(
    place: &Workplace,
    control: &mut Control,
    spec: &DataSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Stamp> {
    let today = spec.today.unwrap_or_else(|| Date::of_unix_time(clock::unix_time().as_secs()));
    let stamp = Stamp::building(spec, today);
    // The stamp comes first, so that whatever follows is known as ours.
    stamp.write(control)?;
    let tables = spec.set.tables();
    let indexes = indexes(spec.via);
    for table in &tables {
        control.exec(&table.definition().create_table(indexes))?;
    }
    let generator = spec.set.generator(spec.seed, today);
    let rows = tables.iter().map(|&table| spec.set.rows_expected(table)).sum();
    let tally = Tally::new(stop, rows);
    let contents = match spec.via {
        Via::Insert | Via::Script | Via::Shuffled => {
            let shuffle = (spec.via == Via::Shuffled).then_some(spec.seed);
            ways::insert(place, (spec.set, &generator), (indexes, shuffle), &tally, progress)?
        }
        Via::Load | Via::Dump => ways::load(place, spec.set, &generator, spec.threads, &tally, progress)?,
    };
    // Tables that start empty: no way in has anything to do with them.
    for &table in tables.iter().filter(|&&table| spec.set.rows_expected(table) == 0) {
        finish_filled(control, table, indexes, Content::default(), &tally)?;
    }
    add_references(control, &tables)?;
    let stamp = stamp.finished(in_order(&tables, &contents));
    stamp.write(control)?;
    Ok(stamp)
}

/// Foreign keys come last. The rows are not looked through: they come from the generator. An engine without foreign
/// keys ignores it.
fn add_references(control: &mut Control, tables: &[Table]) -> Result<()> {
    control.exec("SET SESSION foreign_key_checks = 0")?;
    for sql in tables.iter().filter_map(|table| table.definition().create_references()) {
        control.exec(&sql)?;
    }
    control.exec("SET SESSION foreign_key_checks = 1")?;
    Ok(())
}

/// Whether tables have their secondary indexes before their rows.
fn indexes(via: Via) -> Indexes {
    match via {
        Via::Script | Via::Shuffled => Indexes::Inline,
        Via::Insert | Via::Load | Via::Dump => Indexes::Later,
    }
}

/// All tables in their own order, with nothing in those that got no rows.
fn in_order(tables: &[Table], contents: &[(Table, Content)]) -> Vec<(Table, Content)> {
    let content = |table| contents.iter().find(|(name, _)| *name == table).map(|(_, content)| *content);
    tables.iter().map(|&table| (table, content(table).unwrap_or_default())).collect()
}

/// The stamp of the connection's default database, where that holds what `spec` wants. It reads the stamp, not the
/// rows: see [`verify`].
/// Errors: [`DataError::Missing`] where nothing is there, another one that says what is there instead.
pub fn check(control: &mut Control, spec: &DataSpec) -> Result<Stamp> {
    let database = database_of(control);
    let Some(stamp) = Stamp::read(control)? else { return Err(without_stamp(control)?) };
    let differences = differences(&stamp, spec);
    match stamp.state {
        State::Building => Err(DataError::HalfFinished { database }),
        _ if !differences.is_empty() => Err(DataError::Differs { database, differences }),
        State::Written => Err(DataError::Written { database }),
        State::Ready => Ok(stamp),
    }
}

fn without_stamp(control: &mut Control) -> Result<DataError> {
    let database = database_of(control);
    Ok(match session::table_names(control)?.into_iter().next() {
        Some(table) => DataError::Foreign { database, table },
        None => DataError::Missing { database },
    })
}

fn differences(stamp: &Stamp, spec: &DataSpec) -> Vec<String> {
    if stamp.set.name() != spec.set.name() {
        return vec![format!("{} data instead of {}", stamp.set.title(), spec.set.title())];
    }
    let today = spec.today.unwrap_or(stamp.today);
    let [first, second] = stamp.set.numbers();
    [
        difference("generator version", stamp.generator_version, spec.set.generator_version()),
        difference(first.0, first.1, spec.set.numbers()[0].1),
        difference(second.0, second.1, spec.set.numbers()[1].1),
        difference("seed", stamp.seed.0, spec.seed.0),
        difference("date", stamp.today, today),
        difference("via", stamp.via, spec.via),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn difference<T: PartialEq + Display>(what: &str, there: T, wanted: T) -> Option<String> {
    (there != wanted).then(|| format!("{what} {there} instead of {wanted}"))
}

/// Reads all rows at the server and compares them with the stamp; the first table that differs is the
/// error. Takes about as long as reading every table once.
pub fn verify(target: &Target, database: Option<&str>) -> Result<Stamp> {
    let place = Workplace::new(target, database, DataSpec::DATABASE)?;
    let mut control = place.connect()?;
    let stamp = Stamp::read(&mut control)?.ok_or(DataError::Missing { database: place.database.clone() })?;
    match stamp.state {
        State::Building => return Err(DataError::HalfFinished { database: place.database }),
        State::Written => return Err(DataError::Written { database: place.database }),
        State::Ready => {}
    }
    for (table, content) in &stamp.tables {
        session::expect_content(&mut control, *table, *content)?;
    }
    Ok(stamp)
}

/// Drops a data set, finished or not, and nothing else: tables of other names stay, and a database
/// without a stamp is refused. The stamp goes last, so that a cut drop is still known as ours.
pub fn remove(target: &Target, database: Option<&str>) -> Result<()> {
    let place = Workplace::new(target, database, DataSpec::DATABASE)?;
    let mut control = place.connect()?;
    place.lock(&mut control)?;
    let names = session::table_names(&mut control)?;
    if !names.iter().any(|name| name == Stamp::TABLE) {
        return Err(without_stamp(&mut control)?);
    }
    let set = control.query_value(&format!("SELECT data_set FROM {} WHERE id = 1", Stamp::TABLE))?;
    let set = set.unwrap_or_default();
    control.exec(&format!("UPDATE {} SET state = 'building'", Stamp::TABLE))?;
    // A table that others refer to goes without them.
    control.exec("SET SESSION foreign_key_checks = 0")?;
    for name in names.iter().filter(|name| Table::named(&set, name).is_some()) {
        control.exec(&format!("DROP TABLE `{name}`"))?;
    }
    control.exec(&format!("DROP TABLE {}", Stamp::TABLE))?;
    Ok(())
}

/// Bytes of data and indexes of tables in the connection's default database, by the server's statistics. `fresh` renews them before
/// (ANALYZE TABLE needs INSERT and SELECT): a server of others may change its plans by that. InnoDB counts whole pages. A table that does not exist
/// is an error: a buffer pool in percent of nothing would go unnoticed.
pub fn tables_size(control: &mut Control, tables: &[&str], fresh: bool) -> Result<u64> {
    let mut bytes = 0;
    for table in tables {
        let name = table.replace('`', "``");
        if fresh {
            control.query(&format!("ANALYZE TABLE `{name}`"))?;
        }
        let literal = table.replace('\\', "\\\\").replace('\'', "''");
        let sql = format!(
            "SELECT data_length + index_length FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name = '{literal}'"
        );
        let size = control.query_value(&sql)?.and_then(|text| text.parse::<u64>().ok());
        bytes += size.ok_or_else(|| DataError::NoTable((*table).to_owned()))?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::dvdstore;
    use super::super::stamp::Via;
    use super::super::tpcw::{Date, Scale};
    use super::*;
    use evenkeel_core::random::Seed;

    fn spec() -> DataSpec {
        let set = Scale::new(1, 1_000).unwrap().into();
        DataSpec { set, seed: Seed(1), today: None, via: Via::Load, threads: 1 }
    }

    #[test]
    fn each_difference_names_what_is_there_and_what_is_wanted() {
        let stamp = Stamp::building(&spec(), Date::new(2026, 1, 15));
        let wanted = DataSpec {
            set: Scale::new(2, 2_000).unwrap().into(),
            seed: Seed(9),
            today: Some(Date::new(2026, 1, 16)),
            via: Via::Insert,
            threads: 1,
        };
        assert_eq!(
            differences(&stamp, &wanted),
            [
                "NUM_EBS 1 instead of 2",
                "NUM_ITEMS 1000 instead of 2000",
                "seed 1 instead of 9",
                "date 2026-01-15 instead of 2026-01-16",
                "via load instead of insert",
            ]
        );
    }

    #[test]
    fn another_kind_of_data_is_told_by_its_name() {
        let stamp = Stamp::building(&spec(), Date::new(2026, 1, 15));
        let wanted = DataSpec { set: dvdstore::Size::SMALL.into(), ..spec() };
        assert_eq!(differences(&stamp, &wanted), ["TPC-W data instead of DVD Store"]);
    }
}
