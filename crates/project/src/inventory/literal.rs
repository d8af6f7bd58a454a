//! Values of variables in inventories of the form INI.
//!
//! Ansible reads such a value as a Python literal if it is one: a number, a text in quotes, a list or a map. A comment
//! may follow a literal. In any other value, a `#` is part of the text.

use std::str::Chars;

/// The quotes around a text. Three quotes come first, because a single quote is the beginning of them.
const QUOTES: [&str; 4] = ["'''", r#"""""#, "'", r#"""#];

/// A token of a Python literal.
enum Token {
    /// The content of a text in quotes.
    Text(String),
    /// A number, `True`, `False` or `None`.
    Word,
    /// An opening bracket. The field contains the matching closing bracket.
    Open(char),
    /// A closing bracket.
    Close(char),
    Comma,
    Colon,
}

/// The kind of token that [`literal`] has read last.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// No token was read yet.
    Nothing,
    /// A text in quotes. The next token may be a text too, because Python joins adjacent texts.
    Text,
    /// A complete value other than a text.
    Value,
    /// An opening bracket, a comma or a colon.
    Separator,
}

/// Returns the value that Ansible reads from the text behind `name=`. A list, a map or a number stays text as
/// written, without the comment behind it.
pub(super) fn value(text: &str) -> String {
    literal(text).unwrap_or_else(|| text.to_owned())
}

/// Returns the value of a Python literal; `None` if the text is no literal.
fn literal(text: &str) -> Option<String> {
    let mut rest = text.trim_start();
    // `content` is `None` as soon as the literal is more than texts.
    let (mut open, mut last, mut content) = (Vec::new(), Last::Nothing, Some(String::new()));
    while !rest.is_empty() && !rest.starts_with('#') {
        let (token, behind) = token(rest)?;
        let is_complete = matches!(last, Last::Text | Last::Value);
        last = match &token {
            Token::Text(_) if last != Last::Value => Last::Text,
            Token::Word if !is_complete => Last::Value,
            Token::Open(closing) if !is_complete => {
                open.push(*closing);
                Last::Separator
            }
            Token::Close(closing) if open.pop() == Some(*closing) => Last::Value,
            Token::Comma if is_complete => Last::Separator,
            Token::Colon if is_complete && open.last() == Some(&'}') => Last::Separator,
            _ => return None,
        };
        content = match token {
            Token::Text(more) => content.map(|content| content + &more),
            _ => None,
        };
        rest = behind.trim_start();
    }
    if last == Last::Nothing || !open.is_empty() {
        return None;
    }
    Some(content.unwrap_or_else(|| text[..text.len() - rest.len()].trim().to_owned()))
}

/// Reads the first token of a text. Returns the token and the text behind it; `None` if the text does not begin with a
/// token.
fn token(text: &str) -> Option<(Token, &str)> {
    if let Some(quote) = QUOTES.into_iter().find(|quote| text.starts_with(quote)) {
        let (content, behind) = quoted(&text[quote.len()..], quote)?;
        return Some((Token::Text(content), behind));
    }
    let mut chars = text.chars();
    let token = match chars.next()? {
        '[' => Token::Open(']'),
        '(' => Token::Open(')'),
        '{' => Token::Open('}'),
        closing @ (']' | ')' | '}') => Token::Close(closing),
        ',' => Token::Comma,
        ':' => Token::Colon,
        _ => {
            let is_end = |c: char| !c.is_ascii_alphanumeric() && !['.', '+', '-'].contains(&c);
            let (word, behind) = text.split_at(text.find(is_end).unwrap_or(text.len()));
            return is_word(word).then_some((Token::Word, behind));
        }
    };
    Some((token, chars.as_str()))
}

fn is_word(word: &str) -> bool {
    matches!(word, "True" | "False" | "None") || is_number(word)
}

/// Tells whether a word is a number in Python. For example, `017` is no number: in Python, a whole number other than 0
/// must not begin with the digit 0.
fn is_number(word: &str) -> bool {
    let number = word.strip_prefix(['-', '+']).unwrap_or(word).to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = number.strip_prefix(prefix) {
            return !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
        }
    }
    if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) {
        return !number.starts_with('0') || number.bytes().all(|b| b == b'0');
    }
    let begins = number.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    begins && number.parse::<f64>().is_ok()
}

/// Reads the content of a text in quotes, up to the closing quote. Returns the content and the text behind the closing
/// quote. Returns `None` if the quote is not closed, or if an escape sequence can't be decoded.
fn quoted<'t>(text: &'t str, quote: &str) -> Option<(String, &'t str)> {
    let (mut chars, mut content) = (text.chars(), String::new());
    loop {
        if let Some(behind) = chars.as_str().strip_prefix(quote) {
            return Some((content, behind));
        }
        match chars.next()? {
            '\\' => escaped(&mut chars, &mut content)?,
            c => content.push(c),
        }
    }
}

/// Decodes the escape sequence behind a backslash, and appends the result to `content`. An unknown sequence keeps its
/// backslash, as in Python. Returns `None` if the sequence can't be decoded, for example `\N{…}`.
fn escaped(chars: &mut Chars<'_>, content: &mut String) -> Option<()> {
    let first = chars.next()?;
    let decoded = match first {
        '\\' | '\'' | '"' => first,
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'x' => coded(chars, 2)?,
        'u' => coded(chars, 4)?,
        'U' => coded(chars, 8)?,
        '0'..='7' => octal(chars, first)?,
        // The names of characters are not known here.
        'N' => return None,
        _ => {
            content.push('\\');
            first
        }
    };
    content.push(decoded);
    Some(())
}

/// Reads a character code of `count` hexadecimal digits, and returns the character.
fn coded(chars: &mut Chars<'_>, count: usize) -> Option<char> {
    let mut code = 0;
    for _ in 0..count {
        code = code << 4 | chars.next()?.to_digit(16)?;
    }
    char::from_u32(code)
}

/// Reads a character code of one to three octal digits, and returns the character. `first` is the first digit.
fn octal(chars: &mut Chars<'_>, first: char) -> Option<char> {
    let mut code = first.to_digit(8)?;
    for _ in 0..2 {
        let mut ahead = chars.clone();
        let Some(digit) = ahead.next().and_then(|c| c.to_digit(8)) else { break };
        code = code << 3 | digit;
        *chars = ahead;
    }
    char::from_u32(code)
}
