// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Blake2b} from "./Blake2b.sol";
import {TokenTransfer} from "./Tokens.sol";

/// Locks an ERC20 collateral for FIL that the lender lends through a payment channel.
contract ERC20CollateralLock {
    using Blake2b for bytes;
    using TokenTransfer for address;

    enum State { Funded, Locked, Seized, Closed, Canceled }

    /// Packed: anvil keeps a copy of the whole storage for every block it remembers.
    struct Loan {
        address borrower;
        uint64 loanExpiration;
        State state;
        address lender;
        uint64 createdAt;
        address token;
        uint64 loanExpirationPeriod;
        bytes filBorrower;
        bytes filLender;
        bytes32 secretHashA1;
        bytes32 secretHashB1;
        bytes secretA1;
        bytes secretB1;
        uint256 collateralAmount;
        uint256 principalAmount;
        uint256 lockPrice;
        uint256 liquidationPrice;
        uint256 interestRate;
        bytes32 paymentChannelId;
    }

    /// A hundred years, so that a time plus a period always fits 64 bits.
    uint256 private constant LONGEST_PERIOD = 36525 days;

    event CreateBorrowRequest(uint256 loanId, address borrower, uint256 collateralAmount, address token);
    event AcceptOffer(uint256 loanId, address lender, bytes filLender, bytes32 secretHashB1, bytes32 paymentChannelId, uint256 principalAmount);
    event UnlockCollateral(uint256 loanId, address borrower, uint256 collateralAmount, address token);
    event SeizeCollateral(uint256 loanId, address lender, uint256 amount, address token);
    event UnlockRefundableCollateral(uint256 loanId, address borrower, uint256 amount, address token);
    event CancelBorrowRequest(uint256 loanId, address borrower, uint256 collateralAmount, address token, bytes secretA1);

    uint256 private constant ONE = 1e18;

    mapping(uint256 => Loan) private loans;
    /// Loans are numbered from 1.
    uint256 public loanIdCounter;
    address public owner;
    /// Price of one FIL in whole tokens, with 18 decimals.
    uint256 public price;

    constructor(uint256 price_) {
        owner = msg.sender;
        price = price_;
    }

    function setPrice(uint256 price_) external {
        require(msg.sender == owner, "not-the-owner");
        require(price_ > 0, "no-price");
        price = price_;
    }

    function createBorrowRequest(bytes32 secretHashA1, bytes calldata filBorrower, uint256 collateralAmount, address token, uint256 principalAmount, uint256 interestRate, uint256 loanExpirationPeriod) external {
        require(collateralAmount > 0, "no-collateral");
        require(loanExpirationPeriod <= LONGEST_PERIOD, "period-too-long");
        uint256 loanId = ++loanIdCounter;
        Loan storage loan = loans[loanId];
        loan.borrower = msg.sender;
        loan.filBorrower = filBorrower;
        loan.secretHashA1 = secretHashA1;
        loan.createdAt = uint64(block.timestamp);
        loan.loanExpirationPeriod = uint64(loanExpirationPeriod);
        loan.collateralAmount = collateralAmount;
        loan.principalAmount = principalAmount;
        loan.interestRate = interestRate;
        loan.token = token;
        token.pull(msg.sender, collateralAmount);
        emit CreateBorrowRequest(loanId, msg.sender, collateralAmount, token);
    }

    /// The borrower accepts a lender's offer; the principal is the amount that the lender put into the channel.
    function acceptOffer(uint256 loanId, address lender, bytes calldata filLender, bytes32 secretHashB1, bytes32 paymentChannelId, uint256 principalAmount) external {
        Loan storage loan = existing(loanId, State.Funded);
        require(msg.sender == loan.borrower, "not-the-borrower");
        require(lender != address(0), "no-lender");
        loan.lender = lender;
        loan.filLender = filLender;
        loan.secretHashB1 = secretHashB1;
        loan.paymentChannelId = paymentChannelId;
        loan.principalAmount = principalAmount;
        loan.lockPrice = price;
        loan.loanExpiration = uint64(block.timestamp) + loan.loanExpirationPeriod;
        loan.state = State.Locked;
        emit AcceptOffer(loanId, lender, filLender, secretHashB1, paymentChannelId, principalAmount);
    }

    /// The lender took the payback on Filecoin and so made B1 public: until a seizure the borrower may use it.
    function unlockCollateral(uint256 loanId, bytes calldata secretB1) external {
        Loan storage loan = existing(loanId, State.Locked);
        require(msg.sender == loan.borrower, "not-the-borrower");
        require(secretB1.hash256() == loan.secretHashB1, "wrong-secret");
        uint256 amount = loan.collateralAmount;
        loan.collateralAmount = 0;
        loan.secretB1 = secretB1;
        loan.state = State.Closed;
        loan.token.push(loan.borrower, amount);
        emit UnlockCollateral(loanId, loan.borrower, amount, loan.token);
    }

    /// The lender takes the debt's present price after the loan expired; the rest returns to the borrower.
    function seizeCollateral(uint256 loanId, bytes calldata secretA1) external {
        Loan storage loan = existing(loanId, State.Locked);
        require(msg.sender == loan.lender, "not-the-lender");
        require(secretA1.hash256() == loan.secretHashA1, "wrong-secret");
        require(block.timestamp > loan.loanExpiration, "loan-not-expired");
        uint256 seizable = min(debtInTokens(loan), loan.collateralAmount);
        uint256 refundable = loan.collateralAmount - seizable;
        loan.collateralAmount = 0;
        loan.secretA1 = secretA1;
        loan.liquidationPrice = price;
        loan.state = State.Seized;
        loan.token.push(loan.lender, seizable);
        loan.token.push(loan.borrower, refundable);
        emit SeizeCollateral(loanId, loan.lender, seizable, loan.token);
        emit UnlockRefundableCollateral(loanId, loan.borrower, refundable, loan.token);
    }

    /// The event holds the secret and storage does not, like in the original contract.
    function cancelBorrowRequest(uint256 loanId, bytes calldata secretA1) external {
        Loan storage loan = existing(loanId, State.Funded);
        require(msg.sender == loan.borrower, "not-the-borrower");
        require(secretA1.hash256() == loan.secretHashA1, "wrong-secret");
        uint256 amount = loan.collateralAmount;
        loan.collateralAmount = 0;
        loan.state = State.Canceled;
        loan.token.push(loan.borrower, amount);
        emit CancelBorrowRequest(loanId, loan.borrower, amount, loan.token, secretA1);
    }

    function fetchLoan(uint256 loanId) external view returns (
        address[2] memory actors,
        bytes[2] memory filAddresses,
        bytes32[2] memory secretHashes,
        bytes[2] memory secrets,
        uint256[3] memory expirations,
        uint256[5] memory details,
        bytes32 paymentChannelId,
        address token,
        uint8 state
    ) {
        Loan storage loan = loans[loanId];
        actors = [loan.borrower, loan.lender];
        filAddresses = [loan.filBorrower, loan.filLender];
        secretHashes = [loan.secretHashA1, loan.secretHashB1];
        secrets = [loan.secretA1, loan.secretB1];
        expirations = [uint256(loan.loanExpiration), loan.createdAt, loan.loanExpirationPeriod];
        details = [loan.collateralAmount, loan.principalAmount, loan.lockPrice, loan.liquidationPrice, loan.interestRate];
        paymentChannelId = loan.paymentChannelId;
        token = loan.token;
        state = uint8(loan.state);
    }

    /// Principal and interest (FIL, 18 decimals) at today's price, in the token's smallest units.
    function debtInTokens(Loan storage loan) private view returns (uint256) {
        uint256 debt = loan.principalAmount + loan.principalAmount * loan.interestRate / ONE;
        uint256 worth = debt * price / ONE;
        uint256 decimals = decimalsOf(loan.token);
        return decimals <= 18 ? worth / 10 ** (18 - decimals) : worth * 10 ** (decimals - 18);
    }

    /// A token with no or absurd decimals counts as one with 18.
    function decimalsOf(address token) private view returns (uint256) {
        (bool done, bytes memory answer) = token.staticcall(abi.encodeWithSignature("decimals()"));
        if (!done || answer.length != 32) return 18;
        uint256 decimals = abi.decode(answer, (uint256));
        return decimals > 36 ? 18 : decimals;
    }

    function min(uint256 a, uint256 b) private pure returns (uint256) {
        return a < b ? a : b;
    }

    function existing(uint256 loanId, State state) private view returns (Loan storage loan) {
        loan = loans[loanId];
        require(loan.borrower != address(0), "no-such-loan");
        require(loan.state == state, "wrong-state");
    }
}
