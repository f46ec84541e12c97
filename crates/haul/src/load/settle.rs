//! What a load finds before it begins, and what it puts right.

use super::job::{Job, Settled};
use super::manifest::{self, KnownFile, Origin};
use super::{LoadError, begun, files};
use crate::dispatch::{self, DispatchError};
use crate::table::folded;
use crate::{HaulError, session};
use evenkeel_site::server::Control;

impl Job<'_> {
    /// Takes the rows of these files out of tables without transactions, where a load of them was cut; says what was done.
    pub fn give_up(mut self) -> Result<Vec<String>, HaulError> {
        let mut control = session::connect(self.target, self.stop)?;
        Ok(self.settle(&mut control)?.notes)
    }

    /// Keeps others out, and holds tables, files and manifest against each other.
    pub(super) fn settle(&mut self, control: &mut Control) -> Result<Settled, HaulError> {
        for table in &mut self.tables {
            table.name = folded(control, &table.name)?;
        }
        let named = self.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>().join(",");
        self.lock(control, &named)?;
        manifest::create(control)?;
        self.name_sources_again(control)?;
        let (mut engine, mut origin) = self.look_at_tables(control)?;
        if !engine.has_transactions() && origin != Origin::Created {
            // A dispatch in the middle of a load would take rows that a cut load has to take back.
            for table in &self.tables {
                dispatch::keep_out(control, &table.name).map_err(|error| refused(error, &table.name))?;
            }
            (engine, origin) = self.look_at_tables(control)?;
        }
        self.check_options(engine)?;
        let mut known = self.known(control, &named, (engine, origin))?;
        let looked = files::look(&self.inputs)?;
        let mut notes = Vec::new();
        if !engine.has_transactions() && origin != Origin::Created {
            self.refuse_half_moved(control, &known)?;
            let shortest = self.file.layout.types().iter().map(|each| each.length()).min().unwrap_or(1);
            let told = begun::settle(control, (&self.tables, &named), &known, &looked, shortest as u64)?;
            notes.extend(told);
            known = manifest::read(control, &named)?;
        }
        let origin = self.origin_of_all(control, origin, &known, engine)?;
        Ok(Settled { named, engine, origin, looked, known, notes })
    }

    /// A dispatch that was killed may have left a table without its name; another one in its place would lose what is in it.
    fn name_sources_again(&self, control: &mut Control) -> Result<(), HaulError> {
        for table in &self.tables {
            if dispatch::is_nameless(control, &table.name)? {
                dispatch::keep_out(control, &table.name).map_err(|error| refused(error, &table.name))?;
            }
        }
        Ok(())
    }

    /// Rows that the manifest takes to be there have gone to day tables, by a dispatch that did not come to its end.
    fn refuse_half_moved(&self, control: &mut Control, known: &[KnownFile]) -> Result<(), HaulError> {
        let waiting: u64 = known.iter().map(|file| file.waiting).sum();
        let rows = begun::count(control, &self.tables)?;
        if rows >= waiting || known.iter().any(|file| !file.done) {
            return Ok(());
        }
        for table in &self.tables {
            if dispatch::moved(control, &table.name)?.all > 0 {
                return Err(LoadError::HalfMoved { table: table.name.clone(), rows, waiting }.into());
            }
        }
        Ok(())
    }

    pub(super) fn moved(&self, control: &mut Control) -> Result<dispatch::Moved, HaulError> {
        let mut sum = dispatch::Moved::default();
        for table in &self.tables {
            let moved = dispatch::moved(control, &table.name)?;
            sum.all += moved.all;
            sum.there += moved.there;
        }
        Ok(sum)
    }
}

fn refused(error: DispatchError, table: &str) -> HaulError {
    match error {
        DispatchError::Server(error) => error.into(),
        _ => LoadError::Dispatching(table.to_owned()).into(),
    }
}
