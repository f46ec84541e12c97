//! The end of every way in: indexes where they are missing, fresh statistics, and a look at whether the rows are those that were sent.

use super::content::Content;
use super::error::DataError;
use super::parallel::Tally;
use super::progress::Phase;
use super::schema::Indexes;
use super::session;
use super::set::Table;
use evenkeel_site::server::Control;

/// Finishes a table, whose secondary indexes may be there from the start, and makes sure that it holds what was put into it.
pub(super) fn finish_filled(
    control: &mut Control,
    table: Table,
    indexes: Indexes,
    content: Content,
    tally: &Tally,
) -> Result<(), DataError> {
    tally.enter(Phase::Indexes, table.name())?;
    session::finish(control, table.definition(), table.name(), indexes)?;
    tally.enter(Phase::Verify, table.name())?;
    session::expect_content(control, table.definition(), table.name(), content)
}
