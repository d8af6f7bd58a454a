//! Arithmetic with addresses and networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::value::Value;

/// An IP address, or a network. A network consists of an IP address and the length of its prefix.
#[derive(Clone, Copy, Debug)]
struct Address {
    ip: IpAddr,
    prefix: Option<u8>,
}

impl Address {
    fn parse(text: &str) -> Option<Self> {
        if let Ok(ip) = text.parse() {
            return Some(Self { ip, prefix: None });
        }
        Self::network(text)
    }

    fn network(text: &str) -> Option<Self> {
        let (ip, prefix) = text.split_once('/')?;
        let ip: IpAddr = ip.parse().ok()?;
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let prefix: u8 = prefix.parse().ok()?;
        (prefix <= bits(ip)).then_some(Self { ip, prefix: Some(prefix) })
    }

    /// Returns the address at an offset from this address. After the last possible address, the first
    /// possible address follows.
    fn offset(self, by: i128) -> Self {
        let ip = match self.ip {
            IpAddr::V4(ip) => Ipv4Addr::from(shifted(ip.octets(), by)).into(),
            IpAddr::V6(ip) => Ipv6Addr::from(shifted(ip.octets(), by)).into(),
        };
        Self { ip, ..self }
    }

    fn contains(self, ip: IpAddr) -> bool {
        let prefix = self.prefix.unwrap_or(0);
        mask(self.ip, prefix) == mask(ip, prefix)
    }

    fn text(self) -> String {
        match self.prefix {
            Some(prefix) => format!("{}/{prefix}", self.ip),
            None => self.ip.to_string(),
        }
    }

    fn number(self) -> u128 {
        match self.ip {
            IpAddr::V4(ip) => u128::from(ip.to_bits()),
            IpAddr::V6(ip) => ip.to_bits(),
        }
    }
}

/// Adds an offset to a big-endian number, byte by byte.
///
/// The carry has the same fault as in the Go program spiff++. If the sum at a byte is negative and a multiple
/// of 256, the next higher byte becomes too small by 1. So `"10.0.0.0/24" * -1` is `9.255.254.0/24`, and not
/// `9.255.255.0/24`.
fn shifted<const N: usize>(mut bytes: [u8; N], by: i128) -> [u8; N] {
    let mut carry = by;
    for byte in bytes.iter_mut().rev() {
        let sum = carry.saturating_add(i128::from(*byte));
        *byte = sum.to_le_bytes()[0];
        carry = if sum < 0 { sum / 256 - 1 } else { sum / 256 };
    }
    bytes
}

fn bits(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

fn mask(ip: IpAddr, prefix: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
            Ipv4Addr::from(ip.to_bits() & mask).into()
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0);
            Ipv6Addr::from(ip.to_bits() & mask).into()
        }
    }
}

fn moved(address: Address, by: i128) -> Result<Value, String> {
    let result = address.offset(by);
    if address.prefix.is_some() && !address.contains(result.ip) {
        return Err("resulting ip address not in CIDR range".into());
    }
    Ok(result.text().into())
}

pub(super) fn add(text: &str, by: &Value) -> Result<Value, String> {
    let address =
        Address::parse(text).ok_or("first argument for addition must be IP address, CIDR or number")?;
    let by = by.as_int().ok_or("addition argument for an IP address requires an integer argument")?;
    moved(address, i128::from(by))
}

pub(super) fn subtract(text: &str, by: &Value) -> Result<Value, String> {
    let address =
        Address::parse(text).ok_or("first argument for substraction must be IP address, CIDR or number")?;
    match by {
        Value::Int(by) => moved(address, -i128::from(*by)),
        Value::String(other) => {
            let other = Address::parse(other)
                .ok_or("second argument for substraction must be IP address, CIDR or number")?;
            if other.ip.is_ipv4() != address.ip.is_ipv4() {
                return Err("IP type mismatch".into());
            }
            let difference = address.number().wrapping_sub(other.number());
            #[expect(clippy::cast_possible_truncation, reason = "wraps, as integers do")]
            let difference = difference as i64;
            Ok(difference.into())
        }
        _ => Err("second argument of IP address subtraction must be IP address or integer".into()),
    }
}

pub(super) fn multiply(text: &str, by: &Value) -> Result<Value, String> {
    let network = Address::network(text).ok_or_else(|| {
        format!("first argument of multiplication must be CIDR or number: invalid CIDR address: {text}")
    })?;
    let by = by.as_int().ok_or("CIDR multiplication requires an integer argument")?;
    let prefix = network.prefix.unwrap_or(0);
    let size = 1_i128.checked_shl(u32::from(bits(network.ip) - prefix)).unwrap_or(0);
    let start = Address { ip: mask(network.ip, prefix), ..network };
    Ok(start.offset(size.wrapping_mul(i128::from(by))).text().into())
}

pub(super) fn divide(text: &str, by: &Value) -> Result<Value, String> {
    let network = Address::network(text).ok_or_else(|| {
        format!("first argument of division must be CIDR or number: invalid CIDR address: {text}")
    })?;
    let by = by.as_int().ok_or("IP address division requires an integer argument")?;
    let by = u64::try_from(by).ok().filter(|by| *by > 0);
    let by = by.ok_or("IP address division requires a positive integer argument")?;
    let prefix = network.prefix.unwrap_or(0);
    // The divisor is rounded up to a power of two.
    let more = u64::BITS - (by - 1).leading_zeros();
    let longer = u32::from(prefix) + more;
    let longer = u8::try_from(longer).ok().filter(|longer| *longer <= bits(network.ip));
    let longer = longer.ok_or("divisor too large for CIDR network size")?;
    Ok(Address { ip: mask(network.ip, prefix), prefix: Some(longer) }.text().into())
}
