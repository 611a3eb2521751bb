// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Blake2b} from "./Blake2b.sol";

/// Gives tests access to the library.
contract Blake2bProbe {
    function hash256(bytes calldata input) external view returns (bytes32) {
        return Blake2b.hash256(input);
    }
}
