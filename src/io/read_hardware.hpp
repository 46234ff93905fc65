// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/reader.hpp"
#include "shardfit/spec/coefficients.hpp"
#include "shardfit/spec/hardware.hpp"

namespace shardfit::io {

/// A cluster in the form of hardware/*.json: every figure is {value, kind, source}.
HardwareSpec read_hardware(const Value& value);

/// A cluster by file name or path; `asked` is where the name stands.
HardwareSpec find_hardware(const std::string& name, const Place& asked);

/// hardware/step-time.json: every coefficient must be there.
TimeCoefficients read_coefficients(const Value& value);

}  // namespace shardfit::io
