//! From current and desired assembly to a plan, by the rules of TNC-O.
