//! The three mixes, walked by browsers or drawn by arrivals.

use super::matrix::{Interaction, Mix};
use super::session::{Session, Store};
use super::single;
use super::statements::mix_rows;
use crate::workload::{Client, Parameters, Reply, Statement, Workload};
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::{TPCW_SESSION_LENGTH, TPCW_THINK_TIME};
use evenkeel_core::distribution::WeightedChoice;
use evenkeel_core::random::Random;
use std::sync::Arc;

/// A mix as a workload; a kind of request is an interaction.
pub struct MixWorkload {
    name: &'static str,
    mix: Mix,
    statements: Vec<Statement>,
    kinds: Vec<String>,
    store: Arc<Store>,
    /// Draws an interaction by its share in an endless walk.
    shares: Arc<WeightedChoice>,
}

impl MixWorkload {
    pub fn new(name: &'static str, mix: Mix, store: Arc<Store>) -> Self {
        let shares =
            WeightedChoice::new(&mix.stationary()).expect("shares are not negative and add up to one");
        let kinds = Interaction::ALL.map(|interaction| interaction.to_string()).to_vec();
        let statements = mix_rows().map(|row| row.statement()).collect();
        Self { name, mix, statements, kinds, store, shares: Arc::new(shares) }
    }

    fn browser(&self, walk: Option<Mix>) -> Browser {
        let (session, shares) = (Session::new(Arc::clone(&self.store)), Arc::clone(&self.shares));
        Browser { session, shares, walk, at: None, left: Nanos::ZERO }
    }
}

impl Workload for MixWorkload {
    fn name(&self) -> &str {
        self.name
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn kinds(&self) -> &[String] {
        &self.kinds
    }

    fn client(&self, _number: u64) -> Box<dyn Client> {
        Box::new(self.browser(None))
    }

    fn closed_client(&self, _number: u64) -> Box<dyn Client> {
        Box::new(self.browser(Some(self.mix)))
    }

    fn sample(&self, statement: usize, random: &mut Random, parameters: &mut Parameters) -> bool {
        let Some(row) = mix_rows().nth(statement) else { return false };
        single::sample(&self.store, row.sql, random, parameters)
    }
}

/// A client. Of an open load each arrival is somebody else who makes one interaction, drawn by its share in an
/// endless walk. Of a closed load it walks from page to page, thinks in between, and from time to time leaves and
/// comes back as somebody else; it begins in the middle, as after a long time: at an interaction drawn by its share,
/// with what is left of a think time and of a session. Began all at Home, the first minutes would have another mix
/// than the rest.
struct Browser {
    session: Session,
    shares: Arc<WeightedChoice>,
    /// Where it walks on from, of a closed load.
    walk: Option<Mix>,
    at: Option<Interaction>,
    /// What is left of the session. Only think time counts, so that the walk of a seed does not depend on
    /// how fast the server is.
    left: Nanos,
}

impl Browser {
    /// Begins an interaction, drawn by its share, as somebody who was not there before.
    fn begin_anywhere(&mut self, random: &mut Random) -> Interaction {
        let interaction = Interaction::ALL[self.shares.draw(random)];
        self.session.renew(random);
        // Whoever comes to a cart out of nowhere adds the item that was looked at.
        self.session.plan(interaction, Some(Interaction::ProductDetail), random);
        self.session.prepare(interaction);
        interaction
    }
}

impl Client for Browser {
    fn begin(&mut self, random: &mut Random) -> usize {
        let Some(mix) = self.walk else { return self.begin_anywhere(random) as usize };
        let next = match self.at {
            None => {
                self.left = TPCW_SESSION_LENGTH.residual(random);
                self.begin_anywhere(random)
            }
            Some(before) => {
                let next = mix.after(before, random);
                if next == Interaction::Home && self.left == Nanos::ZERO {
                    self.session.renew(random);
                    self.left = TPCW_SESSION_LENGTH.draw(random);
                }
                self.session.plan(next, Some(before), random);
                next
            }
        };
        self.at = Some(next);
        next as usize
    }

    fn step(
        &mut self,
        reply: Option<&Reply>,
        random: &mut Random,
        parameters: &mut Parameters,
    ) -> Option<usize> {
        if let Some(reply) = reply {
            self.session.learn(reply);
        }
        let act = self.session.next_act()?;
        self.session.write(act, random, parameters);
        Some(act.sql as usize)
    }

    fn think(&mut self, random: &mut Random) -> Option<Nanos> {
        let think = TPCW_THINK_TIME.draw(random);
        self.left = self.left - think;
        Some(think)
    }

    fn first_think(&mut self, random: &mut Random) -> Option<Nanos> {
        Some(TPCW_THINK_TIME.residual(random))
    }
}
