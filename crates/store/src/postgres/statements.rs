//! A cache of prepared statements for one connection.

use std::collections::HashMap;

use tokio_postgres::{Client, Statement};

use super::fault::Outcome;

/// The statements that the server has prepared.
#[derive(Default)]
pub(super) struct Statements(HashMap<&'static str, Statement>);

impl Statements {
    /// Returns a prepared statement, and prepares it first if needed.
    pub(super) async fn get(&mut self, db: &Client, sql: &'static str) -> Outcome<Statement> {
        if let Some(known) = self.0.get(sql) {
            return Ok(known.clone());
        }
        let prepared = db.prepare(sql).await?;
        self.0.insert(sql, prepared.clone());
        Ok(prepared)
    }
}
