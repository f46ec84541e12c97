//! What a load finds before it begins, and what it puts right.

use super::job::{Job, Settled, lock};
use super::manifest::{KnownFile, Origin};
use super::store::{Indexes, Options, Warnings};
use super::{files, manifest};
use crate::table::{Engine, Found, folded, quoted};
use crate::{HaulError, dispatch, refused};
use evenkeel_site::server::Control;

impl Job<'_> {
    /// Keeps others out, and holds tables, files and manifest against each other.
    pub(super) fn settle(&mut self, control: &mut Control) -> Result<Settled, HaulError> {
        for table in &mut self.tables {
            table.name = folded(control, &table.name)?;
        }
        let named = self.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>().join(",");
        lock(control, &named)?;
        manifest::create(control)?;
        let (engine, now) = self.look_at_tables(control)?;
        self.check_options(engine)?;
        let mut known = self.known(control, &named, now)?;
        let looked = files::look(&self.inputs, &known)?;
        let mut notes = Vec::new();
        if !engine.has_transactions() && now != Origin::Created {
            let shortest = self.file.layout.types().iter().map(|each| each.length()).min().unwrap_or(1);
            notes.extend(files::settle_cut(
                control,
                (&self.tables, &named),
                &known,
                &looked,
                shortest as u64,
            )?);
            known = manifest::read(control, &named)?;
        }
        let origin = self.origin_of_all(control, now, &known, engine)?;
        Ok(Settled { named, engine, origin, looked, known, notes })
    }

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
            _ => Err(refused("the tables of one load have several engines", "leave one of them out").into()),
        }
    }

    fn check_options(&self, engine: Engine) -> Result<(), HaulError> {
        if engine.has_transactions() {
            return Ok(());
        }
        let Options { connections, warnings, .. } = self.options;
        let cannot = |text: String| Err(refused(text, "leave one of them out").into());
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
    fn known(&self, control: &mut Control, named: &str, origin: Origin) -> Result<Vec<KnownFile>, HaulError> {
        let known = manifest::read(control, named)?;
        if origin == Origin::Filled {
            return Ok(known);
        }
        // Asked for after the tables were seen to be empty, so that a dispatch in between is in it.
        let (mut all, mut there) = (0, 0);
        for table in &self.tables {
            let moved = dispatch::moved(control, &table.name)?;
            (all, there) = (all + moved.all, there + moved.there);
        }
        let rows: u64 = known.iter().map(|file| file.rows).sum();
        match self.options.again {
            true if there > 0 => Err(refused(
                format!("{there} rows that were loaded into {named} are in day tables, and --again would load them once more"),
                "leave --again out; drop the day tables first where all is to be loaded anew",
            )
            .into()),
            true => {
                for table in &self.tables {
                    dispatch::forget(control, &table.name)?;
                }
                manifest::forget(control, &known, true)?;
                Ok(Vec::new())
            }
            false if rows > all => {
                let moved = match all {
                    0 => String::new(),
                    all => format!(", and {all} of them are in day tables"),
                };
                let gone = "(table evenkeel_loads), but it has none";
                let what = format!("{rows} rows were loaded into {named} {gone}{moved}");
                let hint = "where the rows were removed on purpose, --again forgets what evenkeel_loads says and loads all";
                Err(refused(what, hint).into())
            }
            false => Ok(known),
        }
    }

    /// What the tables were before the first load of which the manifest tells: where they are empty because nothing has been
    /// committed yet, they still were made by it. Where there is no transaction to tell rows apart, rows of others are looked for.
    fn origin_of_all(
        &self,
        control: &mut Control,
        now: Origin,
        known: &[KnownFile],
        engine: Engine,
    ) -> Result<Origin, HaulError> {
        if !engine.has_transactions() && now == Origin::Filled {
            let ours: u64 = known.iter().map(|file| file.rows).sum();
            if files::count_rows(control, &self.tables)? != ours {
                return Ok(Origin::Filled);
            }
        }
        Ok(known.iter().map(|file| file.origin).max().unwrap_or(now))
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
