# SPDX-License-Identifier: Apache-2.0
def pytest_configure(config):
    config.addinivalue_line("markers", "torch: needs PyTorch and starts jobs of several processes")
