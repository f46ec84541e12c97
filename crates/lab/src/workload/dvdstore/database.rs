//! The database that is asked.

use crate::data::dvdstore::{POPULAR_EVERY, Size};
use evenkeel_core::random::Random;
use evenkeel_site::server::{Control, TargetError};

/// How many times as often a popular product is bought.
const POPULAR_WEIGHT: u64 = 10;

/// A DVD Store: how large it was populated, and how products are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Database {
    pub size: Size,
    /// Whether actors and titles have full-text indexes; else they are looked for by their first word.
    pub fulltext: bool,
}

impl From<Size> for Database {
    /// As InnoDB has it.
    fn from(size: Size) -> Self {
        Self { size, fulltext: true }
    }
}

impl Database {
    /// As it is there.
    ///
    /// # Errors
    /// Whatever stops the query.
    pub fn read(size: Size, control: &mut Control) -> Result<Self, TargetError> {
        let indexes = control.query_value(
            "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() \
             AND table_name = 'PRODUCTS' AND index_type = 'FULLTEXT' AND column_name IN ('ACTOR', 'TITLE')",
        )?;
        Ok(Self { size, fulltext: indexes.as_deref() == Some("2") })
    }

    /// A product to buy: every ten thousandth is ten times as likely as the others.
    pub(super) fn product(&self, random: &mut Random) -> u64 {
        let products = self.size.products();
        let popular = products / POPULAR_EVERY;
        let drawn = random.uniform(1, products + popular * (POPULAR_WEIGHT - 1));
        match drawn.checked_sub(products + 1) {
            None => drawn,
            Some(more) => (more / (POPULAR_WEIGHT - 1) + 1) * POPULAR_EVERY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;

    #[test]
    fn every_ten_thousandth_product_is_bought_ten_times_as_often() {
        let database = Database::from(Size::SMALL);
        let mut random = Random::new(Seed(3));
        let drawn: Vec<u64> = (0..1_000_000).map(|_| database.product(&mut random)).collect();
        let count = |range: std::ops::RangeInclusive<u64>| {
            drawn.iter().filter(|product| range.contains(product)).count() as f64
        };
        // Ten chances of 10,009 for the popular one, one for each other; within five standard deviations.
        let each = 1e6 / 10_009.0;
        assert!((count(10_000..=10_000) - 10.0 * each).abs() < 5.0 * (10.0 * each).sqrt());
        assert!((count(1..=1_000) - 1_000.0 * each).abs() < 5.0 * (1_000.0 * each).sqrt());
        assert_eq!(count(1..=10_000), 1e6);
    }

    #[test]
    fn a_store_without_popular_products_draws_all_alike() {
        let database = Database::from(Size::new(1).unwrap());
        let mut random = Random::new(Seed(4));
        let last = database.size.products();
        assert!((0..100_000).all(|_| (1..=last).contains(&database.product(&mut random))));
    }
}
