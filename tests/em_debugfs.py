# SPDX-License-Identifier: GPL-2.0-only
"""The folders in which a kernel would show a model: paths below energy_model/ and what they hold."""

import io
import tarfile

#: How a kernel of each era calls a domain and a state, and the unit that it takes.
ERAS = {
    "5.4": ("pd{}", "cs:{}", "mW"),
    "5.9": ("cpu{}", "ps:{}", "mW"),
    "5.12": ("cpu{}", "ps:{}", "mW"),
    "5.17": ("cpu{}", "ps:{}", "mW"),
    "6.1": ("cpu{}", "ps:{}", "uW"),
    "6.12": ("cpu{}", "ps:{}", "uW"),
}


def shown(model, kernel):
    """Path -> text of every file that this kernel has for a model."""
    domain_name, state_name, _ = ERAS[kernel]
    files = {}
    for domain in model.domains:
        folder = f"energy_model/{domain_name.format(domain.cpus[0])}"
        files[f"{folder}/cpus"] = f"{domain.cpus[0]}-{domain.cpus[-1]}" if domain.cpus[1:] else domain.cpus[0]
        if kernel == "5.12":
            files[f"{folder}/units"] = "bogoWatts" if domain.unit == "bogo" else "milliWatts"
        elif kernel in ("5.17", "6.1", "6.12"):
            files[f"{folder}/flags"] = "0x2" if domain.unit == "bogo" else "0x3"
        for state in domain.table(kernel="5.11" if kernel == "5.12" else kernel):
            at = f"{folder}/{state_name.format(state['freq_khz'])}"
            files[f"{at}/frequency"] = state["freq_khz"]
            files[f"{at}/power"] = state["power"]
            files[f"{at}/cost"] = state["cost"]
            if kernel in ("5.17", "6.1", "6.12"):
                files[f"{at}/inefficient"] = int(state["inefficient"])
            if kernel == "6.12":
                files[f"{at}/performance"] = state["performance"]
    return {path: f"{value}\n" for path, value in files.items()}


def capacities(model):
    """The files cpu_capacity that lie beside it in /sys/devices/system/cpu."""
    return {
        f"cpu/cpu{cpu}/cpu_capacity": f"{domain.capacity}\n"
        for domain in model.domains
        for cpu in domain.cpus
    }


def as_folder(files, path):
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def as_archive(files, path, mode="w"):
    with tarfile.open(path, mode) as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            content = text.encode()
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path
