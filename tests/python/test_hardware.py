"""Devices from Python: the list, and profiles at a device's roofline."""

import pytest
import torch

import opscope


def model():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 6 * 6, 4))


def test_devices_have_figures_with_sources():
    devices = {device.id: device for device in opscope.devices()}
    assert {"h200", "h100-sxm", "a100-sxm-80gb", "l4", "rtx-4090", "jetson-agx-orin-64gb"} <= set(devices)
    h200 = devices["h200"]
    assert h200.memory_bandwidth_bytes_per_second == {
        "value": 4.8e12, "text": "4.8 TB/s", "source": "datasheet: GPU Memory Bandwidth"
    }
    for device in devices.values():
        for peak in device.peaks:
            assert peak["flops_per_second"]["source"].split(":")[0] in device.sources


def test_profile_at_a_roofline():
    profile = opscope.profile(model(), torch.zeros(1, 3, 8, 8), hardware="h200")
    assert profile.hardware.id == "h200"
    assert profile.hardware.peak_dtype == "tf32"
    assert profile.hardware.fits is True
    rows = [profile.totals, *profile.layers, *profile.modules]
    assert all(row.roofline_seconds >= 0 for row in rows)
    assert sum(row.roofline_seconds for row in profile.layers) == pytest.approx(profile.totals.roofline_seconds)
    assert {row.bound for row in profile.layers} <= {"compute", "memory", "-"}
    assert "NVIDIA H200" in str(profile)


def test_float32_and_ridge():
    graph = opscope.capture(model(), torch.zeros(1, 3, 8, 8))
    assert graph.profile(hardware="h200", float32="ieee").hardware.peak_dtype == "float32"
    assert graph.profile(hardware="h200", ridge=3.0).to_dict()["ridge"] == 3.0
    assert graph.profile().hardware is None


def test_own_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'id = "mine"\nname = "Mine"\nkind = "gpu"\n[memory]\nbandwidth = { value = "1 TB/s" }\n'
        '[peaks.vector]\nfloat32 = { value = "10 TFLOP/s" }\n'
    )
    profile = opscope.profile(model(), torch.zeros(1, 3, 8, 8), hardware=path)
    assert profile.hardware.ridge == pytest.approx(10)
    path.write_text('id = "mine"\nnaem = "Mine"\n')
    with pytest.raises(opscope.Error, match="no such key: 'naem'"):
        opscope.profile(model(), torch.zeros(1, 3, 8, 8), hardware=path)


def test_a_typo_is_told_with_the_nearest_name():
    with pytest.raises(opscope.Error, match="no such device: 'h20'") as raised:
        opscope.profile(model(), torch.zeros(1, 3, 8, 8), hardware="h20")
    assert "h200" in raised.value.hint
    assert "h200" in raised.value.__notes__[-1]  # what Python shows under an error that nobody catches
