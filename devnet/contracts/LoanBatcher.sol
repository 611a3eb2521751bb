// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A contract wallet: makes several calls in one transaction, in its own name. It is the lender or borrower of
/// the loans it makes and holds their tokens. If one call fails, all fail, with that call's reason.
contract LoanBatcher {
    struct Call {
        address to;
        bytes data;
    }

    address public owner;

    constructor() {
        owner = msg.sender;
    }

    function batch(Call[] calldata calls) external {
        require(msg.sender == owner, "not-the-owner");
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done, bytes memory answer) = calls[i].to.call(calls[i].data);
            if (!done) {
                assembly ("memory-safe") {
                    revert(add(answer, 32), mload(answer))
                }
            }
        }
    }
}
