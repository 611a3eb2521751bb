// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Blake2b} from "./Blake2b.sol";
import {TokenTransfer} from "./Tokens.sol";

/// Lends an ERC20 principal against FIL that the borrower locks in a payment channel.
contract ERC20Loans {
    using Blake2b for bytes;
    using TokenTransfer for address;

    enum State { Funded, Approved, Withdrawn, Repaid, PaybackRefunded, Closed, Canceled }

    /// Packed: anvil keeps a copy of the whole storage for every block it remembers.
    struct Loan {
        address borrower;
        uint64 loanExpiration;
        State state;
        address lender;
        uint64 acceptExpiration;
        address token;
        uint64 loanExpirationPeriod;
        bytes filBorrower;
        bytes filLender;
        bytes32 secretHashA1;
        bytes32 secretHashB1;
        bytes secretA1;
        bytes secretB1;
        uint256 principal;
        uint256 interest;
        uint256 collateral;
        bytes32 paymentChannelId;
    }

    /// A hundred years, so that a time plus a period always fits 64 bits.
    uint256 private constant LONGEST_PERIOD = 36525 days;

    event CreateLoanOffer(uint256 loanId, address lender, uint256 principal, address token);
    event ApproveRequest(uint256 loanId, address borrower, bytes filBorrower, bytes32 secretHashA1, bytes32 paymentChannelId, uint256 collateralAmount);
    event Withdraw(uint256 loanId, address borrower, uint256 amount, address token, bytes secretA1);
    event Payback(uint256 loanId, address borrower, uint256 amount, address token);
    event AcceptRepayment(uint256 loanId, uint256 amount, address token, bytes secretB1);
    event RefundPayback(uint256 loanId, address borrower, uint256 amount, address token);
    event CancelLoan(uint256 loanId, uint256 amount, address token, bytes secretB1);

    mapping(uint256 => Loan) private loans;
    /// Loans are numbered from 1.
    uint256 public loanIdCounter;
    /// Seconds the lender has, after the loan expired, to accept a payback.
    uint64 public acceptPeriod;

    constructor(uint64 acceptPeriod_) {
        require(acceptPeriod_ <= LONGEST_PERIOD, "period-too-long");
        acceptPeriod = acceptPeriod_;
    }

    function createLoanOffer(bytes32 secretHashB1, bytes calldata filLender, uint256 principal, uint256 interest, address token, uint256 loanExpirationPeriod) external {
        require(principal > 0, "no-principal");
        require(loanExpirationPeriod <= LONGEST_PERIOD, "period-too-long");
        uint256 loanId = ++loanIdCounter;
        Loan storage loan = loans[loanId];
        loan.lender = msg.sender;
        loan.filLender = filLender;
        loan.secretHashB1 = secretHashB1;
        loan.principal = principal;
        loan.interest = interest;
        loan.token = token;
        loan.loanExpirationPeriod = uint64(loanExpirationPeriod);
        token.pull(msg.sender, principal);
        emit CreateLoanOffer(loanId, msg.sender, principal, token);
    }

    function approveRequest(uint256 loanId, address borrower, bytes calldata filBorrower, bytes32 secretHashA1, bytes32 paymentChannelId, uint256 collateralAmount) external {
        Loan storage loan = existing(loanId, State.Funded);
        require(msg.sender == loan.lender, "not-the-lender");
        require(borrower != address(0), "no-borrower");
        loan.borrower = borrower;
        loan.filBorrower = filBorrower;
        loan.secretHashA1 = secretHashA1;
        loan.paymentChannelId = paymentChannelId;
        loan.collateral = collateralAmount;
        loan.loanExpiration = uint64(block.timestamp) + loan.loanExpirationPeriod;
        loan.acceptExpiration = loan.loanExpiration + acceptPeriod;
        loan.state = State.Approved;
        emit ApproveRequest(loanId, borrower, filBorrower, secretHashA1, paymentChannelId, collateralAmount);
    }

    function withdraw(uint256 loanId, bytes calldata secretA1) external {
        Loan storage loan = existing(loanId, State.Approved);
        require(msg.sender == loan.borrower, "not-the-borrower");
        require(secretA1.hash256() == loan.secretHashA1, "wrong-secret");
        require(block.timestamp <= loan.loanExpiration, "loan-expired");
        loan.secretA1 = secretA1;
        loan.state = State.Withdrawn;
        loan.token.push(loan.borrower, loan.principal);
        emit Withdraw(loanId, loan.borrower, loan.principal, loan.token, secretA1);
    }

    function payback(uint256 loanId) external {
        Loan storage loan = existing(loanId, State.Withdrawn);
        require(msg.sender == loan.borrower, "not-the-borrower");
        require(block.timestamp <= loan.loanExpiration, "loan-expired");
        uint256 amount = loan.principal + loan.interest;
        loan.state = State.Repaid;
        loan.token.pull(msg.sender, amount);
        emit Payback(loanId, loan.borrower, amount, loan.token);
    }

    /// Checks only the secret and the time, no state and no caller, like the original contract.
    function acceptRepayment(uint256 loanId, bytes calldata secretB1) external {
        Loan storage loan = loans[loanId];
        require(loan.lender != address(0), "no-such-loan");
        require(secretB1.hash256() == loan.secretHashB1, "wrong-secret");
        require(block.timestamp <= loan.acceptExpiration, "accept-period-expired");
        uint256 amount = loan.principal + loan.interest;
        loan.secretB1 = secretB1;
        loan.state = State.Closed;
        loan.token.push(loan.lender, amount);
        emit AcceptRepayment(loanId, amount, loan.token, secretB1);
    }

    /// The lender let the accept period pass: the borrower takes the payback back (and may lose the collateral).
    function refundPayback(uint256 loanId) external {
        Loan storage loan = existing(loanId, State.Repaid);
        require(msg.sender == loan.borrower, "not-the-borrower");
        require(block.timestamp > loan.acceptExpiration, "accept-period-not-expired");
        uint256 amount = loan.principal + loan.interest;
        loan.principal = 0;
        loan.interest = 0;
        loan.state = State.PaybackRefunded;
        loan.token.push(loan.borrower, amount);
        emit RefundPayback(loanId, loan.borrower, amount, loan.token);
    }

    function cancelLoan(uint256 loanId, bytes calldata secretB1) external {
        Loan storage loan = loans[loanId];
        require(loan.lender != address(0), "no-such-loan");
        require(loan.state == State.Funded || loan.state == State.Approved, "wrong-state");
        require(msg.sender == loan.lender, "not-the-lender");
        require(secretB1.hash256() == loan.secretHashB1, "wrong-secret");
        uint256 amount = loan.principal;
        loan.principal = 0;
        loan.interest = 0;
        loan.collateral = 0;
        loan.secretB1 = secretB1;
        loan.state = State.Canceled;
        loan.token.push(loan.lender, amount);
        emit CancelLoan(loanId, amount, loan.token, secretB1);
    }

    function fetchLoan(uint256 loanId) external view returns (
        address[2] memory actors,
        bytes[2] memory filAddresses,
        bytes32[2] memory secretHashes,
        bytes[2] memory secrets,
        uint256[3] memory expirations,
        uint256[3] memory details,
        bytes32 paymentChannelId,
        address token,
        uint8 state
    ) {
        Loan storage loan = loans[loanId];
        actors = [loan.borrower, loan.lender];
        filAddresses = [loan.filBorrower, loan.filLender];
        secretHashes = [loan.secretHashA1, loan.secretHashB1];
        secrets = [loan.secretA1, loan.secretB1];
        expirations = [uint256(loan.loanExpiration), loan.acceptExpiration, loan.loanExpirationPeriod];
        details = [loan.principal, loan.interest, loan.collateral];
        paymentChannelId = loan.paymentChannelId;
        token = loan.token;
        state = uint8(loan.state);
    }

    function existing(uint256 loanId, State state) private view returns (Loan storage loan) {
        loan = loans[loanId];
        require(loan.lender != address(0), "no-such-loan");
        require(loan.state == state, "wrong-state");
    }
}
