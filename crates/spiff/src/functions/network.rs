//! The template functions for address ranges and networks, such as `min_ip`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::argument::{Outcome, done, fail, list, quoted, text, texts};
use super::{FunctionError, Host, Registry};
use crate::limits::ENTRY;
use crate::value::{Node, Value};

pub(super) fn register(registry: &mut Registry) {
    registry.add("min_ip", |_: &mut dyn Host, arguments: &[Node]| done(net(arguments)?.first().to_string()));
    registry.add("max_ip", |_: &mut dyn Host, arguments: &[Node]| done(net(arguments)?.last().to_string()));
    registry.add("num_ip", |_: &mut dyn Host, arguments: &[Node]| done(net(arguments)?.size()));
    registry.add("contains_ip", contains_ip).add("ipset", ipset).add("static_ips", static_ips);
}

/// A network: an address with a prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Net {
    /// Address as the template contains it, with its host bits.
    pub(crate) address: IpAddr,
    /// Length of the prefix in bits.
    pub(crate) prefix: u32,
}

/// Parses an address. An IPv4-mapped IPv6 address becomes an IPv4 address.
pub(crate) fn parse_address(text: &str) -> Option<IpAddr> {
    match text.parse::<IpAddr>().ok()? {
        IpAddr::V6(address) => Some(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4)),
        address @ IpAddr::V4(_) => Some(address),
    }
}

pub(crate) fn to_number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

/// Converts a number to an address of the same family as `like`.
pub(crate) fn from_number(number: u128, like: IpAddr) -> IpAddr {
    match like {
        #[expect(clippy::cast_possible_truncation, reason = "addresses wrap around, as in the original")]
        IpAddr::V4(_) => Ipv4Addr::from(number as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from(number).into(),
    }
}

/// Returns the address that is `steps` addresses after `address`.
pub(crate) fn step(address: IpAddr, steps: i64) -> IpAddr {
    from_number(to_number(address).wrapping_add_signed(i128::from(steps)), address)
}

impl Net {
    /// Parses an address with a prefix length, such as `10.0.0.1/24`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let digits = !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_digit());
        let prefix = prefix.parse().ok().filter(|prefix| digits && *prefix <= bits)?;
        Some(Self { address, prefix })
    }

    fn bits(self) -> u32 {
        if self.address.is_ipv4() { 32 } else { 128 }
    }

    /// Returns the mask in which the host bits are 1.
    fn free(self) -> u128 {
        let free = self.bits() - self.prefix;
        1_u128.checked_shl(free).map_or(u128::MAX, |size| size - 1)
    }

    pub(crate) fn first(self) -> IpAddr {
        from_number(to_number(self.address) & !self.free(), self.address)
    }

    pub(crate) fn last(self) -> IpAddr {
        from_number(to_number(self.address) | self.free(), self.address)
    }

    /// Returns the number of addresses in the network. If it exceeds `i64::MAX`, returns `i64::MAX`.
    pub(crate) fn size(self) -> i64 {
        i64::try_from(self.free().saturating_add(1)).unwrap_or(i64::MAX)
    }

    pub(crate) fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && to_number(address) & !self.free() == to_number(self.first())
    }
}

fn net(arguments: &[Node]) -> Result<Net, FunctionError> {
    let [argument] = arguments else { fail!("only one argument expected for CIDR function") };
    match argument.as_str().and_then(Net::parse) {
        Some(net) => Ok(net),
        None => fail!("CIDR argument required"),
    }
}

fn contains_ip(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [net, address] = arguments else { fail!("contains_ip requires CIDR and IP argument") };
    let net = text(net, "CIDR required as first argument")?;
    let Some(net) = Net::parse(net) else { fail!("CIDR argument required: invalid CIDR address: {net}") };
    let address = text(address, "IP required as second argument")?;
    match parse_address(address) {
        Some(address) => done(net.contains(address)),
        None => fail!("IP argument required: invalid IP address {}", quoted(address)),
    }
}

/// A range of consecutive addresses.
#[derive(Clone, Copy)]
struct Range {
    first: IpAddr,
    size: i64,
}

impl Range {
    /// Parses a range in one of the forms `10.0.0.1`, `10.0.0.1 - 10.0.0.9` and `10.0.0.0/24`.
    fn parse(text: &str) -> Result<Self, FunctionError> {
        let address = |text: &str| match parse_address(text.trim_matches(' ')) {
            Some(address) => Ok(address),
            None => Err(FunctionError::failed(format!("invalid IP '{text}'"))),
        };
        let Some((start, end)) = text.split_once('-') else {
            return match Net::parse(text) {
                Some(net) => Ok(Self { first: net.first(), size: net.size() }),
                None => Ok(Self { first: address(text)?, size: 1 }),
            };
        };
        let end = end.split('-').next().unwrap_or(end);
        let (first, last) = (address(start)?, address(end)?);
        let same_kind = first.is_ipv4() == last.is_ipv4();
        match to_number(last).checked_sub(to_number(first)).filter(|_| same_kind) {
            Some(distance) => {
                Ok(Self { first, size: i64::try_from(distance).unwrap_or(i64::MAX - 1).saturating_add(1) })
            }
            None => fail!("invalid IP range: start ({start}) larger than end ({end})"),
        }
    }
}

/// Returns the address at an index. The index counts the addresses of all ranges, one range after the other.
/// If the index is too large, the error is the number of addresses in all ranges.
fn pick(ranges: &[Range], index: i64) -> Result<IpAddr, i64> {
    let mut offset: i64 = 0;
    for range in ranges {
        if index < offset.saturating_add(range.size) {
            return Ok(step(range.first, index - offset));
        }
        offset = offset.saturating_add(range.size);
    }
    Err(offset)
}

/// Adds the indices of an argument to `into`. The argument is an integer, or a list of such arguments.
fn indices(into: &mut Vec<i64>, argument: &Value) -> Result<(), FunctionError> {
    match argument {
        Value::Int(index) if *index < 0 => fail!("negative ip indices are not allowed: {index}"),
        Value::Int(index) => into.push(*index),
        Value::List(items) => {
            for item in items.iter().filter(|item| !super::argument::is_nil(item)) {
                indices(into, item)?;
            }
        }
        _ => fail!("arguments to static_ips must be integer or list of integers"),
    }
    Ok(())
}

fn ipset(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if arguments.len() < 2 {
        fail!("at least 2 argument expected (ipranges, size, optional: ip indices");
    }
    let ranges: Vec<Range> = match arguments[0].value() {
        Value::String(text) => vec![Range::parse(text)?],
        Value::List(items) => {
            let mut ranges = Vec::new();
            for (at, item) in items.iter().enumerate() {
                ranges.push(Range::parse(text(item, &format!("string entry at ip range list index {at}"))?)?);
            }
            ranges
        }
        _ => fail!("ip range or range list expected as first argument"),
    };
    let mut chosen = Vec::new();
    for argument in &arguments[2..] {
        indices(&mut chosen, argument)?;
    }
    let Some(count) = arguments[1].as_int() else {
        fail!("number of IPs in set expected as second argument")
    };
    if count < 0 {
        fail!("number of IPs in set must not be negative");
    }
    let available = chosen.len();
    if arguments.len() > 2 && i64::try_from(available).unwrap_or(i64::MAX) < count {
        fail!("too many required entries ({count} > {available} available indices)");
    }
    // Each address is first in the list `addresses`, and then also in the resulting list. So the cost of an entry
    // is counted twice.
    host.spend(count.unsigned_abs().saturating_mul(2 * ENTRY))?;
    let mut addresses = Vec::new();
    for at in 0..count {
        let by_index = usize::try_from(at).ok().and_then(|at| chosen.get(at).copied());
        let index = by_index.unwrap_or(at);
        match pick(&ranges, index) {
            Ok(address) => addresses.push(address.to_string()),
            Err(size) => fail!("ip index {at} ({index}) out of range ({size} IP(s) available in ranges)"),
        }
    }
    done(texts(addresses))
}

/// Returns static addresses of a BOSH job, from the ranges in `networks.<name>.subnets`. Two values come from
/// the scope of the call: `name` is the name of the network, and `instances` is the number of addresses.
fn static_ips(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let mut chosen = Vec::new();
    for argument in arguments {
        indices(&mut chosen, argument)?;
    }
    if chosen.is_empty() {
        fail!("");
    }
    let name = host.evaluate("name")?;
    let Some(name) = name.as_str() else { fail!("name field must be string") };
    let instances = host.evaluate("instances")?;
    let Some(instances) = instances.as_int() else { fail!("") };
    let Some(subnets) = host.lookup(&["networks", name, "subnets"])? else {
        fail!("'.networks.{name}.subnets' not found");
    };
    let ranges = static_ranges(name, list(&subnets, "subnets field must be a list")?)?;
    let mut addresses = Vec::new();
    for index in chosen {
        match pick(&ranges, index) {
            Ok(address) => addresses.push(address.to_string()),
            Err(_) => fail!(""),
        }
    }
    match usize::try_from(instances).ok().filter(|count| *count <= addresses.len()) {
        Some(count) => done(texts(&addresses[..count])),
        None => fail!("too less static IPs for {instances} instances"),
    }
}

fn static_ranges(network: &str, subnets: &[Node]) -> Result<Vec<Range>, FunctionError> {
    let mut ranges = Vec::new();
    for subnet in subnets {
        let Some(subnet) = subnet.as_map() else { fail!("subnet must be a map") };
        let Some(entries) = subnet.get("static") else { fail!("no static ips for network {network}") };
        for entry in list(entries, &format!("static ips for network {network} must be a list"))? {
            let range = text(entry, &format!("invalid entry for static ips for network {network}"))?;
            ranges.push(Range::parse(range)?);
        }
    }
    Ok(ranges)
}
