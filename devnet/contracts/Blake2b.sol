// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// blake2b with a 32-byte digest and no key, through the compression function of EIP-152 (address 0x09).
library Blake2b {
    /// The initial state, little-endian words: the first one is mixed with digest length 32, fanout 1, depth 1.
    bytes32 private constant INITIAL_LOW = 0x28c9bdf267e6096a3ba7ca8485ae67bb2bf894fe72f36e3cf1361d5f3af54fa5;
    bytes32 private constant INITIAL_HIGH = 0xd182e6ad7f520e511f6c3e2b8c68059b6bbd41fbabd9831f79217e1319cde05b;
    uint256 private constant BLOCK = 128;

    function hash256(bytes memory input) internal view returns (bytes32 low) {
        // An empty input is still one (zero) block; a full last block is the final one, not followed by another.
        uint256 blocks = input.length == 0 ? 1 : (input.length + BLOCK - 1) / BLOCK;
        bytes memory padded = bytes.concat(input, new bytes(blocks * BLOCK - input.length));
        bytes32 high = INITIAL_HIGH;
        low = INITIAL_LOW;
        for (uint256 i = 0; i < blocks; i++) {
            bool last = i + 1 == blocks;
            uint256 count = last ? input.length : (i + 1) * BLOCK;
            (low, high) = compress(low, high, padded, i * BLOCK, uint64(count), last);
        }
    }

    /// One call of the precompile: rounds, state, message block, offset counter, final flag (213 bytes in all).
    function compress(bytes32 low, bytes32 high, bytes memory padded, uint256 offset, uint64 count, bool last)
        private
        view
        returns (bytes32, bytes32)
    {
        bytes32[4] memory m;
        for (uint256 i = 0; i < 4; i++) {
            assembly ("memory-safe") {
                mstore(add(m, mul(i, 32)), mload(add(add(padded, 32), add(offset, mul(i, 32)))))
            }
        }
        bytes memory call = abi.encodePacked(
            uint32(12), low, high, m[0], m[1], m[2], m[3], littleEndian(count), uint64(0), last
        );
        (bool done, bytes memory state) = address(0x09).staticcall(call);
        require(done && state.length == 64, "no-blake2-precompile");
        return abi.decode(state, (bytes32, bytes32));
    }

    function littleEndian(uint64 n) private pure returns (uint64) {
        n = ((n & 0x00ff00ff00ff00ff) << 8) | ((n >> 8) & 0x00ff00ff00ff00ff);
        n = ((n & 0x0000ffff0000ffff) << 16) | ((n >> 16) & 0x0000ffff0000ffff);
        return (n << 32) | (n >> 32);
    }
}
