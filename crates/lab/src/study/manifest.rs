//! Where a study is measured: machine, servers, plans.

use super::StudyError;
use super::site::Ready;
use crate::data::{Stamp, tables_size};
use crate::store::format::ServerRecord;
use crate::target::Control;
use evenkeel_sense::machine::Machine;
use std::collections::BTreeMap;
use std::path::Path;

/// What this machine says of itself, in words; what it does not say is not there.
pub(super) fn machine(data_dir: Option<&Path>) -> BTreeMap<String, String> {
    let machine = Machine::read(data_dir);
    let mut words = BTreeMap::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.insert(name.to_owned(), value);
        }
    };
    put("cpu", machine.processor.model);
    put("cpus", machine.cpus.map(|cpus| cpus.to_string()));
    put("governor", machine.governor);
    put(
        "hypervisor",
        machine.hypervisor.name.or_else(|| machine.hypervisor.present.map(|is| is.to_string())),
    );
    put("memory_bytes", machine.memory_bytes.map(|bytes| bytes.to_string()));
    put("swap_used_bytes", machine.swap_used_bytes.map(|bytes| bytes.to_string()));
    put("kernel", machine.kernel);
    put("distribution", machine.distribution);
    put("clock_source", machine.clock_source);
    put("load_average", machine.load_average.map(|[one, five, fifteen]| format!("{one} {five} {fifteen}")));
    if let Some(storage) = machine.storage {
        let rotational = storage.device.as_ref().and_then(|device| device.rotational);
        put("storage_rotational", rotational.map(|is| is.to_string()));
        put("storage_device", storage.device.map(|device| device.name));
        put("storage", Some(format!("{} ({})", storage.file_system, storage.options)));
    }
    words
}

/// What a server that is up says of itself, and the size of the workload's tables.
pub(super) fn server(ready: &Ready, tables: &[String]) -> Result<ServerRecord, StudyError> {
    let mut control = Control::connect(&ready.target)?;
    let names: Vec<&str> = tables.iter().map(String::as_str).collect();
    let tables_bytes = if names.is_empty() { None } else { tables_size(&mut control, &names).ok() };
    Ok(ServerRecord {
        version: control.version().to_string(),
        variables: control.variables()?,
        data: Stamp::read(&mut control).ok().flatten().map(|stamp| stamp_words(&stamp)).unwrap_or_default(),
        tables_bytes,
    })
}

/// A data set's stamp in words.
fn stamp_words(stamp: &Stamp) -> BTreeMap<String, String> {
    let words = [
        ("num_ebs", stamp.scale.ebs().to_string()),
        ("num_items", stamp.scale.items().to_string()),
        ("seed", stamp.seed.0.to_string()),
        ("date", stamp.today.to_string()),
        ("via", stamp.via.to_string()),
        ("checksum", format!("{:016x}", stamp.checksum())),
        ("tool", stamp.tool_version.clone()),
    ];
    words.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
