// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface IERC20 {
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

/// Moves tokens and reverts unless the token returned true.
library TokenTransfer {
    function pull(address token, address from, uint256 amount) internal {
        require(IERC20(token).transferFrom(from, address(this), amount), "token-transfer-failed");
    }

    function push(address token, address to, uint256 amount) internal {
        require(IERC20(token).transfer(to, amount), "token-transfer-failed");
    }
}

/// Common base of the devnet tokens; the inheriting contracts add `decimals()`.
abstract contract DevnetToken {
    string public symbol;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    /// Anyone may mint: the token is worth nothing.
    function mint(address to, uint256 amount) external {
        totalSupply += amount;
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        return move(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        require(allowed >= amount, "allowance-too-low");
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - amount;
        return move(from, to, amount);
    }

    function move(address from, address to, uint256 amount) private returns (bool) {
        require(balanceOf[from] >= amount, "balance-too-low");
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
        return true;
    }
}

contract TestToken is DevnetToken {
    uint8 public decimals;

    constructor(string memory symbol_, uint8 decimals_) {
        symbol = symbol_;
        decimals = decimals_;
    }
}

/// A token without `decimals()`: allowed by ERC-20, where the function is optional.
contract NoDecimalsToken is DevnetToken {
    constructor() {
        symbol = "NODEC";
    }
}

/// A token whose `decimals()` answers more than any decimal place there is, and more than a uint8 holds.
contract AbsurdDecimalsToken is DevnetToken {
    constructor() {
        symbol = "ABSURD";
    }

    function decimals() external pure returns (uint256) {
        return type(uint256).max - 17;
    }
}
