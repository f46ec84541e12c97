//! The tables of a load: what they are before it, and what the manifest says of them.

use super::job::Job;
use super::manifest::{self, KnownFile, Origin};
use super::options::{Indexes, Options, Warnings};
use super::{LoadError, begun, dispatched};
use crate::HaulError;
use crate::table::{Engine, Found, quoted};
use evenkeel_site::server::Control;

impl Job<'_> {
    pub(super) fn look_at_tables(&mut self, control: &mut Control) -> Result<(Engine, Origin), HaulError> {
        let mut origin = Origin::Created;
        let mut engines = Vec::new();
        for table in &mut self.tables {
            let Some(found) = Found::read(control, &table.name)? else {
                engines.push(table.engine);
                continue;
            };
            table.engine = found.check(table)?;
            engines.push(table.engine);
            let row = control.query_value(&format!("SELECT 1 FROM {} LIMIT 1", quoted(&table.name)))?;
            origin = origin.max(if row.is_some() { Origin::Filled } else { Origin::Empty });
        }
        match &engines[..] {
            [first, rest @ ..] if rest.iter().all(|each| each == first) => Ok((*first, origin)),
            _ => Err(LoadError::Cannot("the tables of one load have several engines".to_owned()).into()),
        }
    }

    pub(super) fn check_options(&self, engine: Engine) -> Result<(), HaulError> {
        if engine.has_transactions() {
            return Ok(());
        }
        let Options { connections, warnings, .. } = self.options;
        let cannot = |text: String| Err(LoadError::Cannot(text).into());
        let name = engine.name();
        if connections > 1 {
            return cannot(format!(
                "a {name} table takes rows of one connection at a time, and --connections asks for more"
            ));
        }
        match warnings {
            Warnings::Reject => cannot(format!(
                "{name} has no transactions, so that --warnings reject cannot take records back"
            )),
            Warnings::End => Ok(()),
        }
    }

    /// What the manifest says, which is held against what is there and what a dispatch has moved.
    pub(super) fn known(
        &self,
        control: &mut Control,
        named: &str,
        (engine, origin): (Engine, Origin),
    ) -> Result<Vec<KnownFile>, HaulError> {
        let known = manifest::read(control, named)?;
        if origin == Origin::Filled {
            return Ok(known);
        }
        // Asked for after the tables were seen to be empty, so that a dispatch in between is in it.
        let (moved, table) = (self.moved(control)?, named.to_owned());
        let rows: u64 = known.iter().map(|file| file.rows).sum();
        match self.options.again {
            true if moved.there > 0 => Err(LoadError::Moved { table, rows: moved.there }.into()),
            true => {
                manifest::forget_all(control, &known, &self.tables)?;
                Ok(Vec::new())
            }
            false if rows > moved.all => Err(LoadError::Gone { table, rows, moved: moved.all }.into()),
            false if engine.has_transactions() || rows == 0 => Ok(known),
            false => {
                // A dispatch that was killed could not mark what it has taken.
                for table in &self.tables {
                    control.exec(&dispatched::mark_sql(&table.name))?;
                }
                Ok(manifest::read(control, named)?)
            }
        }
    }

    /// What the tables were before the first load of which the manifest tells: where they are empty because nothing has been
    /// committed yet, they still were made by it. Where there is no transaction to tell rows apart, rows of others are looked for.
    pub(super) fn origin_of_all(
        &self,
        control: &mut Control,
        now: Origin,
        known: &[KnownFile],
        engine: Engine,
    ) -> Result<Origin, HaulError> {
        if !engine.has_transactions() && now == Origin::Filled {
            let ours: u64 = known.iter().map(|file| file.waiting).sum();
            if begun::count(control, &self.tables)? != ours {
                return Ok(Origin::Filled);
            }
        }
        let counts = |file: &&KnownFile| engine.has_transactions() || file.is_there();
        Ok(known.iter().filter(counts).map(|file| file.origin).max().unwrap_or(now))
    }

    pub(super) fn create_tables(&self, control: &mut Control) -> Result<(), HaulError> {
        for table in &self.tables {
            if Found::read(control, &table.name)?.is_none() {
                let sql = match self.options.indexes {
                    Indexes::Before => table.create_sql(),
                    Indexes::After => table.create_bare_sql(),
                };
                control.exec(&sql)?;
            }
        }
        Ok(())
    }
}
