//! Statements that the server has prepared already, on one connection.

use std::collections::HashMap;

use tokio_postgres::{Client, Statement};

use super::fault::Outcome;

/// Statements that the server has prepared already.
#[derive(Default)]
pub(super) struct Statements(HashMap<&'static str, Statement>);

impl Statements {
    /// Has a statement prepared, unless it is.
    pub(super) async fn get(&mut self, db: &Client, sql: &'static str) -> Outcome<Statement> {
        if let Some(known) = self.0.get(sql) {
            return Ok(known.clone());
        }
        let prepared = db.prepare(sql).await?;
        self.0.insert(sql, prepared.clone());
        Ok(prepared)
    }
}
