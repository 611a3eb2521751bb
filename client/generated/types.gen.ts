// Made by `npm run client` from the OpenAPI document.
// @ts-nocheck

export type ClientOptions = {
    baseUrl: `${string}://${string}` | (string & {});
};

/**
 * Every failure
 */
export type ErrorAnswer = {
    status: 'ERROR';
    /**
     * One sentence; never the inside of the service
     */
    message: string;
};

/**
 * One thing that happened to a loan
 */
export type ActivityRecord = {
    /**
     * Given once, never reused; ids rise, with gaps
     */
    id: number;
    /**
     * EVM transaction hash, CID of a Filecoin message, or an off-chain voucher itself in base64
     */
    txHash: string;
    /**
     * The kind of event; the parameter `event` lists all names
     */
    event: string;
    /**
     * The value that the loan's lookup takes
     */
    loanId: string;
    /**
     * The chain's configured name; FIL for Filecoin
     */
    blockchain: string;
    /**
     * EVM chain id in decimal, or the name of the Filecoin network
     */
    networkId: string;
    /**
     * EIP-55 address; null on Filecoin
     */
    contractAddress: string | null;
    /**
     * ERC20FIL: tokens are lent; FILERC20: FIL is lent
     */
    loanType: 'ERC20FIL' | 'FILERC20';
    /**
     * When the index first held it (UTC), not when it was on the chain
     */
    createdAt: string;
    /**
     * When the index last changed it (UTC)
     */
    updatedAt: string;
};

/**
 * One page of the history; empty past the last one
 */
export type HistoryAnswer = {
    status: 'OK';
    /**
     * Newest first
     */
    payload: Array<ActivityRecord>;
    /**
     * Number of pages; 0 without records
     */
    pages: number;
};

/**
 * Records that fit all filters; a page can be shorter than its limit, so `next` alone says whether one follows
 */
export type SearchAnswer = {
    status: 'OK';
    /**
     * Newest first; oldest first with `after`
     */
    payload: Array<ActivityRecord>;
    /**
     * The next page's `before`, or its `after` where that was given; null on the last page
     */
    next: number | null;
};

/**
 * An entry of the log about this event
 */
export type Correction = {
    /**
     * Position in the log
     */
    position: number;
    /**
     * append: it came; replace: it moved or says other; retract: it went
     */
    op: 'append' | 'replace' | 'retract';
    /**
     * Block number or epoch at that time
     */
    block: number | null;
    /**
     * That block's or tipset's hash
     */
    hash: string | null;
    /**
     * When the log was written
     */
    recordedAt: string;
    /**
     * Why; null for the first entry
     */
    cause: string | null;
};

/**
 * A record, and how this service knows it
 */
export type ProvenanceAnswer = {
    status: 'OK';
    payload: {
        record: ActivityRecord;
        /**
         * chain: a log or a message; redemption: a voucher that its redemption carried; handed in: a voucher that somebody handed in; derived: a voucher whose entry is not told here
         */
        source: 'chain' | 'redemption' | 'handed in' | 'derived';
        /**
         * How a voucher was handed in; null for chain events
         */
        way: string | null;
        /**
         * The network that the fact was read from
         */
        network: string | null;
        /**
         * Block number on EVM; null elsewhere
         */
        block: number | null;
        /**
         * Epoch on Filecoin; null elsewhere
         */
        epoch: number | null;
        /**
         * That block's or tipset's hash
         */
        hash: string | null;
        /**
         * Position of the log or message in its block
         */
        index: number | null;
        /**
         * That block's time
         */
        time: string | null;
        /**
         * final: at or below the final block of the network; seen: above it; null off-chain. safe is not told yet
         */
        finality: 'seen' | 'safe' | 'final' | null;
        /**
         * How the range of the block was checked; null off-chain or where it is not known
         */
        proof: {
            /**
             * receipts: the logs are those of receipts whose root is in the block's header; state: equal to the contract's proven state; bloom: the block's bloom excludes what was not reported; two: two endpoints said the same; one: one endpoint's word
             */
            kind: 'receipts' | 'state' | 'bloom' | 'two' | 'one';
            /**
             * The checks of the range that was read
             */
            checks: Array<string>;
        } | null;
        /**
         * When that range was read last
         */
        readAt: string | null;
        /**
         * Position in the log of the entry that holds now
         */
        position: number | null;
        /**
         * All entries about this event, oldest first, at most 100
         */
        history: Array<Correction>;
    };
};

/**
 * The loan that a payment channel belongs to
 */
export type ChannelLoan = {
    /**
     * The market of the loan
     */
    loanType: 'ERC20FIL' | 'FILERC20';
    /**
     * The value that the loan's lookup takes
     */
    loanId: string;
    /**
     * What the channel pays in that loan
     */
    role: 'collateral' | 'principal' | 'payback';
    /**
     * The channel's network, as in `/api/status`
     */
    network: string;
};

/**
 * The loan of a payment channel, one for each network that has the channel
 */
export type ChannelLoans = {
    status: 'OK';
    payload: Array<ChannelLoan>;
};

/**
 * One day of one market's token
 */
export type DailyFigures = {
    /**
     * UTC, by the clock of the event's chain
     */
    day: string;
    loanType: 'ERC20FIL' | 'FILERC20';
    /**
     * EVM chain id in decimal
     */
    networkId: string;
    /**
     * The token that is lent, or that secures a loan of FIL; EIP-55
     */
    token: string;
    /**
     * The token's, as in loanAssets
     */
    symbol: string | null;
    /**
     * The token's, as in loanAssets
     */
    decimals: number | null;
    /**
     * Offers or requests made
     */
    opened: number;
    /**
     * Loans repaid, with the payback accepted or refunded
     */
    closed: number;
    /**
     * Loans whose collateral was seized
     */
    seized: number;
    /**
     * Offers or requests cancelled
     */
    cancelled: number;
    /**
     * The principal of the loans opened: whole tokens for ERC20FIL, whole FIL for FILERC20; null where an amount is not known
     */
    principal: string | null;
    /**
     * Loans that are open at the end of the day
     */
    open: number;
};

/**
 * Days on which no loan of a token was opened or ended are left out
 */
export type DailyAnswer = {
    status: 'OK';
    /**
     * The first day first
     */
    payload: Array<DailyFigures>;
    /**
     * The `from` of the following answer; null where this one has all
     */
    next: string | null;
};

/**
 * How far one network is indexed
 */
export type NetworkHealth = {
    /**
     * This service's name of the network
     */
    network: string;
    /**
     * The chain's configured name
     */
    blockchain: string | null;
    /**
     * EVM chain id, or the Filecoin network
     */
    networkId: string | null;
    /**
     * https addresses of the network's block explorer, as configured
     */
    explorer: {
        /**
         * Has `{transaction}` once
         */
        transaction: string | null;
        /**
         * Has `{address}` once
         */
        address: string | null;
    } | null;
    /**
     * starting, following, retrying, stopped, standby, unobserved or not followed
     */
    state: string;
    /**
     * The same of the process that reads the network
     */
    reader: string;
    /**
     * The same of the process that writes it
     */
    writer: string;
    /**
     * A fixed sentence; null without a problem
     */
    problem: string | null;
    /**
     * The part that fails
     */
    problemKind: 'stopped' | 'database' | 'queue' | 'reader' | 'writer' | 'node' | 'step' | 'worker' | 'other' | null;
    /**
     * Newest block or epoch to index
     */
    head: number | null;
    /**
     * Last block or epoch that is indexed
     */
    indexed: number | null;
    /**
     * Last block or epoch that is final
     */
    finalized: number | null;
    /**
     * Blocks between indexed and head
     */
    lagBlocks: number | null;
    /**
     * Seconds between them, by the chain's clock
     */
    lagSeconds: number | null;
    /**
     * The verdict of /readyz for this network
     */
    synced: boolean;
    /**
     * Why it is synced or not, in one line
     */
    note: string;
    /**
     * Jobs that wait
     */
    queueWaiting: number | null;
    /**
     * Jobs that failed
     */
    queueFailed: number | null;
    /**
     * How the blocks that were read were proven; null before the first
     */
    proof: {
        /**
         * First block that was read
         */
        from: number;
        /**
         * Last block that was read
         */
        to: number;
        /**
         * Blocks between them that were not read
         */
        missing: number;
        /**
         * Blocks by the kind of proof; kinds without a block are left out
         */
        blocks: {
            receipts?: number;
            state?: number;
            bloom?: number;
            two?: number;
            one?: number;
        };
        /**
         * Each loan was proven equal to contract state at this block, or at a later final one
         */
        stateAt: number | null;
        /**
         * Epoch up to which a certificate of F3 proves the index final
         */
        certificateAt: number | null;
    } | null;
};

/**
 * Every network that is followed or was indexed
 */
export type StatusAnswer = {
    status: 'OK';
    payload: {
        /**
         * The version of this service
         */
        version: string;
        /**
         * Activity records in the index
         */
        records: number;
        networks: Array<NetworkHealth>;
    };
};

/**
 * This process lives
 */
export type LivenessAnswer = {
    status: 'OK';
};

/**
 * Every followed network is fresh
 */
export type ReadinessAnswer = {
    status: 'OK' | 'ERROR';
    message: string;
    payload?: {
        networks: Array<{
            network: string;
            state: string;
            synced: boolean;
            note: string;
        }>;
    };
};

/**
 * A token that loans name
 */
export type LoanAsset = {
    /**
     * At most 32 visible characters; null until it was read, and where the token gives none such
     */
    symbol: string | null;
    /**
     * Null where the token gives none, or more than 255
     */
    decimals: number | null;
    /**
     * EVM chain id in decimal
     */
    networkId: string;
};

/**
 * The tokens that loans name
 */
export type LoanAssets = {
    status: 'OK';
    /**
     * Keys are EIP-55 addresses of tokens
     */
    payload: {
        [key: string]: LoanAsset;
    };
};

/**
 * The contract's half of a loan of tokens
 */
export type Erc20Loan = {
    /**
     * The loan's key, as the lookup takes it
     */
    id: string;
    /**
     * The contract's bare number of the loan
     */
    contractLoanId: string;
    /**
     * EIP-55 address of the borrower
     */
    borrower: string | null;
    /**
     * EIP-55 address of the lender
     */
    lender: string | null;
    /**
     * Bytes on the contract: UTF-8 text of the borrower's Filecoin address, 0x hex
     */
    filBorrower: string | null;
    /**
     * Bytes on the contract: UTF-8 text of the lender's Filecoin address, 0x hex
     */
    filLender: string | null;
    /**
     * blake2b-256 of the borrower's secret, 0x hex
     */
    secretHashA1: string | null;
    /**
     * blake2b-256 of the lender's secret, 0x hex
     */
    secretHashB1: string | null;
    /**
     * The borrower's secret once it is public, 0x hex
     */
    secretA1: string | null;
    /**
     * The lender's secret once it is public, 0x hex
     */
    secretB1: string | null;
    /**
     * When the loan ends, Unix seconds
     */
    loanExpiration: string | null;
    /**
     * Until when the lender can accept the repayment, Unix seconds
     */
    acceptExpiration: string | null;
    /**
     * Length of the loan, seconds
     */
    loanExpirationPeriod: string | null;
    /**
     * Lent amount, whole units of the token
     */
    principalAmount: string | null;
    /**
     * Interest, whole units of the token
     */
    interestAmount: string | null;
    /**
     * Collateral, whole FIL
     */
    collateralAmount: string | null;
    /**
     * bytes32 on the contract: UTF-8 text of the channel's ID address, padded with zeros, 0x hex
     */
    paymentChannelId: string | null;
    /**
     * 0 funded, 0.5 the borrower's collateral voucher is known, 1 approved, 2 withdrawn, 3 repaid, 4 payback refunded, 5 closed, 6 cancelled
     */
    state: string | null;
    /**
     * The chain's configured name
     */
    blockchain: string | null;
    /**
     * EVM chain id in decimal
     */
    networkId: string | null;
    /**
     * EIP-55 address of the contract
     */
    erc20LoansContract: string | null;
    /**
     * EIP-55 address of the token
     */
    token: string | null;
    /**
     * When the index first held it (UTC), not when it was on the chain
     */
    createdAt: string;
    /**
     * When the index last changed it (UTC)
     */
    updatedAt: string;
};

/**
 * The contract's half of a loan of FIL
 */
export type CollateralLock = {
    /**
     * The loan's key, as the lookup takes it
     */
    id: string;
    /**
     * The contract's bare number of the loan
     */
    contractLoanId: string;
    /**
     * bytes32 on the contract: UTF-8 text of the channel's ID address, padded with zeros, 0x hex
     */
    paymentChannelId: string | null;
    /**
     * EIP-55 address of the borrower
     */
    borrower: string | null;
    /**
     * EIP-55 address of the lender
     */
    lender: string | null;
    /**
     * Bytes on the contract: UTF-8 text of the borrower's Filecoin address, 0x hex
     */
    filBorrower: string | null;
    /**
     * Bytes on the contract: UTF-8 text of the lender's Filecoin address, 0x hex
     */
    filLender: string | null;
    /**
     * blake2b-256 of the borrower's secret, 0x hex
     */
    secretHashA1: string | null;
    /**
     * blake2b-256 of the lender's secret, 0x hex
     */
    secretHashB1: string | null;
    /**
     * The borrower's secret once it is public, 0x hex
     */
    secretA1: string | null;
    /**
     * The lender's secret once it is public, 0x hex
     */
    secretB1: string | null;
    /**
     * When the loan ends, Unix seconds
     */
    loanExpiration: string | null;
    /**
     * Length of the loan, seconds
     */
    loanExpirationPeriod: string | null;
    /**
     * Collateral, whole units of the token
     */
    collateralAmount: string | null;
    /**
     * Lent amount, whole FIL
     */
    principalAmount: string | null;
    /**
     * Interest as a share of the principal per year, 18 decimals
     */
    interestRate: string | null;
    /**
     * Price of FIL in the token when the offer was accepted
     */
    lockPrice: string | null;
    /**
     * Price of FIL in the token at which the collateral was seized
     */
    liquidationPrice: string | null;
    /**
     * 0 funded, 0.5 the lender's channel is known, 1 locked, 2 seized, 3 closed, 4 cancelled
     */
    state: string | null;
    /**
     * The chain's configured name
     */
    blockchain: string | null;
    /**
     * EVM chain id in decimal
     */
    networkId: string | null;
    /**
     * EIP-55 address of the contract
     */
    collateralLockContractAddress: string | null;
    /**
     * EIP-55 address of the token
     */
    token: string | null;
    /**
     * When the index first held it (UTC), not when it was on the chain
     */
    createdAt: string;
    /**
     * When the index last changed it (UTC)
     */
    updatedAt: string;
};

/**
 * The channel that holds the FIL collateral of a loan of tokens
 */
export type FilCollateral = {
    /**
     * This index's number of the channel
     */
    id: string;
    /**
     * The channel's ID address
     */
    paymentChannelId: string | null;
    /**
     * The channel's robust address
     */
    paymentChannelAddress: string | null;
    /**
     * The borrower's EIP-55 address
     */
    ethBorrower: string | null;
    /**
     * The lender's EIP-55 address
     */
    ethLender: string | null;
    /**
     * The borrower's robust Filecoin address
     */
    filBorrower: string | null;
    /**
     * The lender's robust Filecoin address
     */
    filLender: string | null;
    /**
     * FIL in the channel, whole FIL
     */
    amount: string | null;
    /**
     * CID of the message that made the channel
     */
    txHash: string | null;
    /**
     * blake2b-256 of the borrower's secret, 0x hex
     */
    secretHashA1: string | null;
    /**
     * The borrower's secret once it is public: text if it is UTF-8, else 0x hex
     */
    secretA1: string | null;
    /**
     * The lender's secret once it is public: text if it is UTF-8, else 0x hex
     */
    secretB1: string | null;
    /**
     * The borrower's voucher that lets the lender seize, base64 of its CBOR
     */
    signedVoucher: string | null;
    /**
     * The lender's voucher that unlocks the collateral, base64 of its CBOR
     */
    unlockSignedVoucher: string | null;
    /**
     * The Filecoin network
     */
    network: string | null;
    /**
     * Epoch from which the channel can be collected; null until it is settled
     */
    settlingAtHeight: string | null;
    /**
     * That epoch's time on the network's clock, Unix seconds
     */
    settlingAtEstTimestamp: string | null;
    /**
     * The loan's key, as the lookup takes it
     */
    erc20LoanId: string | null;
    /**
     * The contract's bare number of the loan
     */
    erc20LoanContractId: string | null;
    /**
     * EIP-55 address of the loan's contract
     */
    erc20LoansContract: string | null;
    /**
     * EVM chain id of the loan's contract
     */
    erc20LoansNetworkId: string | null;
    /**
     * 0 channel made, 1 seize voucher signed, 2 unlock voucher signed, 3 unlock redeemed, 4 settling to unlock, 5 collected, 6 seize redeemed, 7 settling to seize, 8 collected by seizure
     */
    state: string | null;
    /**
     * When the index first held it (UTC), not when it was on the chain
     */
    createdAt: string;
    /**
     * When the index last changed it (UTC)
     */
    updatedAt: string;
};

/**
 * The channel that lends the FIL
 */
export type FilLoan = {
    /**
     * This index's number of the channel
     */
    id: string;
    /**
     * The channel's ID address
     */
    paymentChannelId: string | null;
    /**
     * The channel's robust address
     */
    paymentChannelAddress: string | null;
    /**
     * The lender's robust Filecoin address
     */
    filLender: string | null;
    /**
     * The borrower's robust Filecoin address
     */
    filBorrower: string | null;
    /**
     * The lender's EIP-55 address
     */
    ethLender: string | null;
    /**
     * The borrower's EIP-55 address
     */
    ethBorrower: string | null;
    /**
     * FIL in the channel, whole FIL
     */
    lockedAmount: string | null;
    /**
     * The Filecoin network
     */
    network: string | null;
    /**
     * blake2b-256 of the lender's secret, 0x hex
     */
    secretHashB1: string | null;
    /**
     * FIL that the voucher lends, whole FIL
     */
    principalAmount: string | null;
    /**
     * CID of the message that made the channel
     */
    txHash: string | null;
    /**
     * The loan's key, as the lookup takes it
     */
    collateralLockId: string | null;
    /**
     * The contract's bare number of the loan
     */
    collateralLockContractId: string | null;
    /**
     * EIP-55 address of the loan's contract
     */
    collateralLockContractAddress: string | null;
    /**
     * EVM chain id of the loan's contract
     */
    collateralLockNetworkId: string | null;
    /**
     * The voucher that pays, base64 of its CBOR
     */
    signedVoucher: string | null;
    /**
     * The borrower's secret once it is public: text if it is UTF-8, else 0x hex
     */
    secretA1: string | null;
    /**
     * Epoch from which the channel can be collected; null until it is settled
     */
    settlingAtHeight: string | null;
    /**
     * That epoch's time on the network's clock, Unix seconds
     */
    settlingAtEstTimestamp: string | null;
    /**
     * 0 channel made, 1 voucher signed, 2 redeemed, 3 settling, 4 collected
     */
    state: string | null;
    /**
     * When the index first held it (UTC), not when it was on the chain
     */
    createdAt: string;
    /**
     * When the index last changed it (UTC)
     */
    updatedAt: string;
};

/**
 * The channel that pays the lent FIL back
 */
export type FilPayback = {
    /**
     * This index's number of the channel
     */
    id: string;
    /**
     * The channel's ID address
     */
    paymentChannelId: string | null;
    /**
     * The channel's robust address
     */
    paymentChannelAddress: string | null;
    /**
     * The lender's robust Filecoin address
     */
    filLender: string | null;
    /**
     * The borrower's robust Filecoin address
     */
    filBorrower: string | null;
    /**
     * FIL in the channel, whole FIL
     */
    amount: string | null;
    /**
     * CID of the message that made the channel
     */
    txHash: string | null;
    /**
     * blake2b-256 of the lender's secret, 0x hex
     */
    secretHashB1: string | null;
    /**
     * The lender's secret once it is public: text if it is UTF-8, else 0x hex
     */
    secretB1: string | null;
    /**
     * The voucher that pays, base64 of its CBOR
     */
    signedVoucher: string | null;
    /**
     * The Filecoin network
     */
    network: string | null;
    /**
     * Epoch from which the channel can be collected; null until it is settled
     */
    settlingAtHeight: string | null;
    /**
     * That epoch's time on the network's clock, Unix seconds
     */
    settlingAtEstTimestamp: string | null;
    /**
     * The loan's key, as the lookup takes it
     */
    collateralLockId: string | null;
    /**
     * The contract's bare number of the loan
     */
    collateralLockContractId: string | null;
    /**
     * EIP-55 address of the loan's contract
     */
    collateralLockContractAddress: string | null;
    /**
     * EVM chain id of the loan's contract
     */
    collateralLockNetworkId: string | null;
    /**
     * 0 channel made, 1 voucher signed, 2 redeemed, 3 settling, 4 collected
     */
    state: string | null;
    /**
     * When the index first held it (UTC), not when it was on the chain
     */
    createdAt: string;
    /**
     * When the index last changed it (UTC)
     */
    updatedAt: string;
};

/**
 * A part that does not exist yet
 */
export type Nothing = {
    [key: string]: never;
};

/**
 * A loan of tokens against FIL
 */
export type Erc20LoanAnswer = {
    status: 'OK';
    payload: {
        erc20Loan: Erc20Loan;
        filCollateral: FilCollateral | Nothing;
        /**
         * The loan's newest records, oldest first
         */
        loanEvents: Array<ActivityRecord>;
        /**
         * Number of the loan's records; /api/activity?loanId= pages through all of them
         */
        loanEventsTotal: number;
    };
    /**
     * Only with `explain=1`: for each part, the records that set each field
     */
    explain?: {
        [key: string]: {
            [key: string]: Array<number>;
        };
    };
};

/**
 * A loan of FIL against tokens
 */
export type FilLoanAnswer = {
    status: 'OK';
    payload: {
        collateralLock: CollateralLock;
        filLoan: FilLoan | Nothing;
        filPayback: FilPayback | Nothing;
        /**
         * The loan's newest records, oldest first
         */
        loanEvents: Array<ActivityRecord>;
        /**
         * Number of the loan's records; /api/activity?loanId= pages through all of them
         */
        loanEventsTotal: number;
    };
    /**
     * Only with `explain=1`: for each part, the records that set each field
     */
    explain?: {
        [key: string]: {
            [key: string]: Array<number>;
        };
    };
};

/**
 * Requests to borrow FIL
 */
export type BorrowOrders = {
    status: 'OK';
    /**
     * The newest loan first
     */
    payload: Array<CollateralLock>;
    /**
     * The next page's `before`; null on the last page
     */
    next: number | null;
};

/**
 * Offers to lend tokens
 */
export type LendOrders = {
    status: 'OK';
    /**
     * The newest loan first
     */
    payload: Array<Erc20Loan>;
    /**
     * The next page's `before`; null on the last page
     */
    next: number | null;
};

/**
 * A loan of tokens in an account's list: what a list shows, and the parts of its lookup
 */
export type Erc20LoanEntry = {
    /**
     * The loan's key, as the lookup takes it
     */
    id: string;
    /**
     * Lent amount, whole units of the token
     */
    principalAmount: string | null;
    /**
     * Interest, whole units of the token
     */
    interestAmount: string | null;
    /**
     * EIP-55 address of the borrower
     */
    borrower: string | null;
    /**
     * EIP-55 address of the lender
     */
    lender: string | null;
    /**
     * EIP-55 address of the token
     */
    token: string | null;
    /**
     * EVM chain id in decimal
     */
    networkId: string | null;
    /**
     * State on the contract
     */
    state: string | null;
    erc20Loan: Erc20Loan;
    filCollateral: FilCollateral | Nothing;
};

/**
 * A loan of FIL in an account's list: what a list shows, and the parts of its lookup
 */
export type FilLoanEntry = {
    /**
     * The loan's key, as the lookup takes it
     */
    id: string;
    /**
     * FIL that the voucher lends, or that the request asks for; whole FIL
     */
    principalAmount: string | null;
    /**
     * The Filecoin network
     */
    network: string | null;
    /**
     * The borrower's EIP-55 address
     */
    ethBorrower: string | null;
    /**
     * The lender's EIP-55 address
     */
    ethLender: string | null;
    /**
     * State of the channel that lends the FIL; null without one
     */
    state: string | null;
    collateralLock: CollateralLock;
    filLoan: FilLoan | Nothing;
    filPayback: FilPayback | Nothing;
};

/**
 * Loans that the account borrows or lends, a page of both markets together; empty for an unknown account
 */
export type AccountLoans = {
    status: 'OK';
    payload: {
        /**
         * The newest loan first
         */
        filLoans: Array<FilLoanEntry>;
        /**
         * The newest loan first
         */
        erc20Loans: Array<Erc20LoanEntry>;
    };
    /**
     * The next page's `before`; null on the last page
     */
    next: number | null;
};

/**
 * A deployed contract
 */
export type Contract = {
    /**
     * EIP-55
     */
    address: string;
};

/**
 * The contracts of each EVM chain
 */
export type ProtocolContracts = {
    status: 'OK';
    /**
     * Keys are EVM chain ids
     */
    payload: {
        [key: string]: {
            [key: string]: Contract;
        };
    };
};

/**
 * A time on an EVM chain
 */
export type BlockTime = {
    time: string;
    /**
     * An estimate; null where none can be made
     */
    block: number | null;
};

/**
 * An epoch on Filecoin
 */
export type EpochTime = {
    time: string;
    /**
     * Exact
     */
    epoch: number;
};

/**
 * The last indexed block
 */
export type BlockBasis = {
    network: string;
    block: number;
    time: string;
    /**
     * Measured; null where it cannot be
     */
    secondsPerBlock: number | null;
};

/**
 * The last indexed tipset
 */
export type EpochBasis = {
    network: string;
    epoch: number;
    time: string;
    secondsPerEpoch: number;
};

/**
 * An action of a party, now or later
 */
export type LoanAction = {
    action: 'approveRequest' | 'withdraw' | 'payback' | 'acceptRepayment' | 'refundPayback' | 'cancelLoan' | 'acceptOffer' | 'unlockCollateral' | 'seizeCollateral' | 'cancelBorrowRequest' | 'createCollateralChannel' | 'createPrincipalChannel' | 'createPaybackChannel' | 'signSeizeVoucher' | 'signUnlockVoucher' | 'signWithdrawVoucher' | 'signPaybackVoucher' | 'redeemSeizeVoucher' | 'redeemUnlockVoucher' | 'redeemWithdrawVoucher' | 'redeemPaybackVoucher' | 'settleCollateral' | 'settlePrincipal' | 'settlePayback' | 'collectCollateral' | 'collectPrincipal' | 'collectPayback';
    actor: 'borrower' | 'lender';
    /**
     * The sender's address; null while unknown
     */
    address: string | null;
    /**
     * The network as /api/status names it
     */
    chain: string;
    /**
     * The first time; null is no limit
     */
    notBefore: BlockTime | EpochTime | null;
    /**
     * The last time; null is no limit
     */
    notAfter: BlockTime | EpochTime | null;
    /**
     * Where times and heights are converted from; null while nothing is indexed
     */
    basis: BlockBasis | EpochBasis | null;
};

/**
 * A mistake to notice in time
 */
export type LoanProblem = {
    code: 'beginning-unknown' | 'other-channel-named' | 'named-channel-not-linked' | 'channel-given-up' | 'loan-expired' | 'seconds-for-epochs' | 'time-locks-crossed' | 'expired' | 'expires-too-early' | 'too-late-for-loan' | 'channel-settled' | 'too-late-for-channel' | 'stale-nonce' | 'does-not-unlock' | 'lane-too-high' | 'bad-merge' | 'negative-amount' | 'below-zero' | 'exceeds-funds' | 'wrong-amount' | 'no-secret-hash' | 'other-secret-hash' | 'impossible-secret-hash' | 'other-channel' | 'unknown-signer' | 'calls-another-actor';
    message: string;
    /**
     * Robust address of the channel concerned
     */
    channel: string | null;
    /**
     * The id of the voucher concerned
     */
    voucher: string | null;
};

/**
 * The next actions of the parties of a loan
 */
export type LoanNextAnswer = {
    status: 'OK';
    payload: {
        /**
         * Follows from the states of the parts alone
         */
        step: 'lock collateral' | 'fund' | 'sign voucher' | 'approve request' | 'approve offer' | 'withdraw principal' | 'withdraw' | 'cancel' | 'repay' | 'accept payback' | 'unlock' | 'seize' | 'seized' | 'refunded' | 'closed' | 'cancelled';
        actions: Array<LoanAction>;
        problems: Array<LoanProblem>;
    };
};

/**
 * An epoch in a voucher
 */
export type VoucherEpoch = {
    /**
     * As the voucher writes it; 0 for none
     */
    epoch: string;
    time: string | null;
};

/**
 * A signed voucher, decoded and judged
 */
export type LoanVoucher = {
    /**
     * blake2b-256 of the signed bytes, hex
     */
    id: string;
    role: 'collateral' | 'principal' | 'payback';
    channel: {
        network: string;
        /**
         * ID address
         */
        id: string;
        /**
         * Robust address
         */
        robust: string;
        /**
         * Whether the lookup shows this channel in its role
         */
        shown: boolean;
    };
    use: 'seize' | 'unlock' | 'pay' | 'other';
    /**
     * Null if neither known party signed
     */
    signedBy: 'borrower' | 'lender' | null;
    /**
     * Address of the signer
     */
    signer: string | null;
    lane: string;
    nonce: string;
    /**
     * Whole FIL, all that the lane pays up to this voucher
     */
    amount: string;
    /**
     * 0x hex of any length
     */
    secretHash: string | null;
    timeLockMin: VoucherEpoch;
    timeLockMax: VoucherEpoch;
    minSettleHeight: VoucherEpoch;
    /**
     * Standard base64; null if longer than 2,048
     */
    text: string | null;
    redeemable: {
        /**
         * In the next epoch, by the party that did not sign
         */
        now: boolean;
        /**
         * The first epoch; null is no limit
         */
        from: BlockTime | EpochTime | null;
        /**
         * The last epoch; null is no limit
         */
        until: BlockTime | EpochTime | null;
    };
    /**
     * The id of a later voucher of its lane
     */
    supersededBy: string | null;
    redeemed: {
        /**
         * CID of the message
         */
        txHash: string;
        epoch: number;
        time: string | null;
    } | null;
    problems: Array<{
        code: 'seconds-for-epochs' | 'time-locks-crossed' | 'expired' | 'expires-too-early' | 'too-late-for-loan' | 'channel-settled' | 'too-late-for-channel' | 'stale-nonce' | 'does-not-unlock' | 'lane-too-high' | 'bad-merge' | 'negative-amount' | 'below-zero' | 'exceeds-funds' | 'wrong-amount' | 'no-secret-hash' | 'other-secret-hash' | 'impossible-secret-hash' | 'other-channel' | 'unknown-signer' | 'calls-another-actor';
        message: string;
    }>;
};

/**
 * Every known voucher of the loan's channels
 */
export type LoanVouchersAnswer = {
    status: 'OK';
    /**
     * Sorted by role, lane and nonce
     */
    payload: Array<LoanVoucher>;
    /**
     * Known vouchers; more than are shown if they are many
     */
    total: number;
};

export type GetNewestHistoryData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path?: never;
    query?: never;
    url: '/api/activity/history';
};

export type GetNewestHistoryErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetNewestHistoryError = GetNewestHistoryErrors[keyof GetNewestHistoryErrors];

export type GetNewestHistoryResponses = {
    /**
     * One page of the history; empty past the last one
     */
    200: HistoryAnswer;
};

export type GetNewestHistoryResponse = GetNewestHistoryResponses[keyof GetNewestHistoryResponses];

export type GetHistoryPageData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * A positive integer
         */
        page: string;
    };
    query?: never;
    url: '/api/activity/history/{page}';
};

export type GetHistoryPageErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetHistoryPageError = GetHistoryPageErrors[keyof GetHistoryPageErrors];

export type GetHistoryPageResponses = {
    /**
     * One page of the history; empty past the last one
     */
    200: HistoryAnswer;
};

export type GetHistoryPageResponse = GetHistoryPageResponses[keyof GetHistoryPageResponses];

export type SearchActivityData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path?: never;
    query?: {
        /**
         * Only records with a smaller id: the `next` of the page before
         */
        before?: string;
        /**
         * Only records with a larger id, oldest first: the `next` of the page before, or the last id that is known
         */
        after?: string;
        /**
         * Records of a page, 1 to 200; 25 when omitted
         */
        limit?: string;
        /**
         * Loans of either market
         */
        loanId?: Array<string>;
        /**
         * Markets
         */
        loanType?: Array<'ERC20FIL' | 'FILERC20'>;
        /**
         * The kind of event
         */
        event?: Array<'CreateLoanOffer' | 'ApproveRequest' | 'Withdraw' | 'Payback' | 'AcceptRepayment' | 'RefundPayback' | 'CancelLoan' | 'CreateBorrowRequest' | 'AcceptOffer' | 'UnlockCollateral' | 'SeizeCollateral' | 'UnlockRefundableCollateral' | 'CancelBorrowRequest' | 'LendERC20/LockCollateral' | 'LendERC20/SignCollateralVoucher' | 'LendERC20/SignUnlockCollateralVoucher' | 'LendERC20/RedeemSeizeCollateralVoucher' | 'LendERC20/RedeemUnlockCollateralVoucher' | 'LendERC20/SettleSeizeCollateral' | 'LendERC20/SettleUnlockCollateral' | 'LendERC20/CollectSeizeCollateral' | 'LendERC20/CollectUnlockCollateral' | 'LendFIL/CreatePaymentChannel' | 'LendFIL/SignWithdrawVoucher' | 'LendFIL/RedeemWithdrawVoucher' | 'LendFIL/SettleWithdraw' | 'LendFIL/CollectWithdraw' | 'LendFIL/PaybackPaymentChannel' | 'LendFIL/SignPaybackVoucher' | 'LendFIL/RedeemPaybackVoucher' | 'LendFIL/SettlePayback' | 'LendFIL/CollectPayback'>;
        /**
         * Names of configured or indexed chains
         */
        blockchain?: Array<string>;
        /**
         * Networks of configured or indexed chains
         */
        networkId?: Array<string>;
        /**
         * As in the record; hex in any case
         */
        txHash?: Array<string>;
        /**
         * Records of the loans that the account borrows or lends: an EVM address with or without its checksum, or a Filecoin address with either letter
         */
        account?: Array<string>;
        /**
         * Only records with this `createdAt` or a later one
         */
        from?: string;
        /**
         * Only records with this `createdAt` or an earlier one; a day means all of it
         */
        to?: string;
        /**
         * Answers as of a moment: just after a record (its id), at a time, or at a block of a network (`<network>@<block>`)
         */
        asOf?: string;
    };
    url: '/api/activity';
};

export type SearchActivityErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * There is no such thing
     */
    404: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type SearchActivityError = SearchActivityErrors[keyof SearchActivityErrors];

export type SearchActivityResponses = {
    /**
     * Records that fit all filters; a page can be shorter than its limit, so `next` alone says whether one follows
     */
    200: SearchAnswer;
};

export type SearchActivityResponse = SearchActivityResponses[keyof SearchActivityResponses];

export type StreamActivityData = {
    body?: never;
    headers?: {
        /**
         * The id of the last event that was received; 0 for all from the beginning
         */
        'last-event-id'?: string;
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path?: never;
    query?: {
        /**
         * Loans of either market
         */
        loanId?: Array<string>;
        /**
         * Markets
         */
        loanType?: Array<'ERC20FIL' | 'FILERC20'>;
        /**
         * The kind of event
         */
        event?: Array<'CreateLoanOffer' | 'ApproveRequest' | 'Withdraw' | 'Payback' | 'AcceptRepayment' | 'RefundPayback' | 'CancelLoan' | 'CreateBorrowRequest' | 'AcceptOffer' | 'UnlockCollateral' | 'SeizeCollateral' | 'UnlockRefundableCollateral' | 'CancelBorrowRequest' | 'LendERC20/LockCollateral' | 'LendERC20/SignCollateralVoucher' | 'LendERC20/SignUnlockCollateralVoucher' | 'LendERC20/RedeemSeizeCollateralVoucher' | 'LendERC20/RedeemUnlockCollateralVoucher' | 'LendERC20/SettleSeizeCollateral' | 'LendERC20/SettleUnlockCollateral' | 'LendERC20/CollectSeizeCollateral' | 'LendERC20/CollectUnlockCollateral' | 'LendFIL/CreatePaymentChannel' | 'LendFIL/SignWithdrawVoucher' | 'LendFIL/RedeemWithdrawVoucher' | 'LendFIL/SettleWithdraw' | 'LendFIL/CollectWithdraw' | 'LendFIL/PaybackPaymentChannel' | 'LendFIL/SignPaybackVoucher' | 'LendFIL/RedeemPaybackVoucher' | 'LendFIL/SettlePayback' | 'LendFIL/CollectPayback'>;
        /**
         * Networks of configured or indexed chains
         */
        networkId?: Array<string>;
        /**
         * As the header `Last-Event-ID`, which a browser cannot set on its first connection: the id of the last event that was received; 0 for all from the beginning; unset for all from now on
         */
        lastEventId?: string;
    };
    url: '/api/activity/stream';
};

export type StreamActivityErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type StreamActivityError = StreamActivityErrors[keyof StreamActivityErrors];

export type StreamActivityResponses = {
    /**
     * Server-sent events. `record`: a new record; `changed`: a record says other than before; `retracted`: a record is gone. Each has the record's ten fields, its `network` and its `position` in the log. `finality`: no reorg takes away records of this `network` with an id below `recordsBefore`.
     */
    200: string;
};

export type StreamActivityResponse = StreamActivityResponses[keyof StreamActivityResponses];

export type GetRecordData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * The `id` of a record
         */
        id: string;
    };
    query?: never;
    url: '/api/activity/{id}';
};

export type GetRecordErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * There is no such thing
     */
    404: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetRecordError = GetRecordErrors[keyof GetRecordErrors];

export type GetRecordResponses = {
    /**
     * A record, and how this service knows it
     */
    200: ProvenanceAnswer;
};

export type GetRecordResponse = GetRecordResponses[keyof GetRecordResponses];

export type GetErc20LoanData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * The contract's number, with its deployment's prefix if there is one
         */
        loanId: string;
    };
    query?: {
        /**
         * Answers as of a moment: just after a record (its id), at a time, or at a block of a network (`<network>@<block>`)
         */
        asOf?: string;
        /**
         * 1 adds `explain`: the records that set each field
         */
        explain?: string;
    };
    url: '/api/loan/ERC20/{loanId}';
};

export type GetErc20LoanErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * There is no such thing
     */
    404: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetErc20LoanError = GetErc20LoanErrors[keyof GetErc20LoanErrors];

export type GetErc20LoanResponses = {
    /**
     * A loan of tokens against FIL
     */
    200: Erc20LoanAnswer;
};

export type GetErc20LoanResponse = GetErc20LoanResponses[keyof GetErc20LoanResponses];

export type GetFilLoanData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * The contract's number, with its deployment's prefix if there is one
         */
        loanId: string;
    };
    query?: {
        /**
         * Answers as of a moment: just after a record (its id), at a time, or at a block of a network (`<network>@<block>`)
         */
        asOf?: string;
        /**
         * 1 adds `explain`: the records that set each field
         */
        explain?: string;
    };
    url: '/api/loan/FIL/{loanId}';
};

export type GetFilLoanErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * There is no such thing
     */
    404: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetFilLoanError = GetFilLoanErrors[keyof GetFilLoanErrors];

export type GetFilLoanResponses = {
    /**
     * A loan of FIL against tokens
     */
    200: FilLoanAnswer;
};

export type GetFilLoanResponse = GetFilLoanResponses[keyof GetFilLoanResponses];

export type GetErc20LoanNextData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * The contract's number, with its deployment's prefix if there is one
         */
        loanId: string;
    };
    query?: never;
    url: '/api/loan/ERC20/{loanId}/next';
};

export type GetErc20LoanNextErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * There is no such thing
     */
    404: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetErc20LoanNextError = GetErc20LoanNextErrors[keyof GetErc20LoanNextErrors];

export type GetErc20LoanNextResponses = {
    /**
     * The next actions of the parties of a loan
     */
    200: LoanNextAnswer;
};

export type GetErc20LoanNextResponse = GetErc20LoanNextResponses[keyof GetErc20LoanNextResponses];

export type GetErc20LoanVouchersData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * The contract's number, with its deployment's prefix if there is one
         */
        loanId: string;
    };
    query?: never;
    url: '/api/loan/ERC20/{loanId}/vouchers';
};

export type GetErc20LoanVouchersErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * There is no such thing
     */
    404: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetErc20LoanVouchersError = GetErc20LoanVouchersErrors[keyof GetErc20LoanVouchersErrors];

export type GetErc20LoanVouchersResponses = {
    /**
     * Every known voucher of the loan's channels
     */
    200: LoanVouchersAnswer;
};

export type GetErc20LoanVouchersResponse = GetErc20LoanVouchersResponses[keyof GetErc20LoanVouchersResponses];

export type GetFilLoanNextData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * The contract's number, with its deployment's prefix if there is one
         */
        loanId: string;
    };
    query?: never;
    url: '/api/loan/FIL/{loanId}/next';
};

export type GetFilLoanNextErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * There is no such thing
     */
    404: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetFilLoanNextError = GetFilLoanNextErrors[keyof GetFilLoanNextErrors];

export type GetFilLoanNextResponses = {
    /**
     * The next actions of the parties of a loan
     */
    200: LoanNextAnswer;
};

export type GetFilLoanNextResponse = GetFilLoanNextResponses[keyof GetFilLoanNextResponses];

export type GetFilLoanVouchersData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * The contract's number, with its deployment's prefix if there is one
         */
        loanId: string;
    };
    query?: never;
    url: '/api/loan/FIL/{loanId}/vouchers';
};

export type GetFilLoanVouchersErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * There is no such thing
     */
    404: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetFilLoanVouchersError = GetFilLoanVouchersErrors[keyof GetFilLoanVouchersErrors];

export type GetFilLoanVouchersResponses = {
    /**
     * Every known voucher of the loan's channels
     */
    200: LoanVouchersAnswer;
};

export type GetFilLoanVouchersResponse = GetFilLoanVouchersResponses[keyof GetFilLoanVouchersResponses];

export type GetBorrowOrdersData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * `available`: nobody took it yet; `closed`: every later state; or a state as in the answers
         */
        state: 'available' | 'closed' | '0' | '0.5' | '1' | '2' | '3' | '4';
    };
    query?: {
        /**
         * The `next` of the page before
         */
        before?: string;
        /**
         * Loans of a page, 1 to 200
         */
        limit?: string;
        /**
         * Answers as of a moment: just after a record (its id), at a time, or at a block of a network (`<network>@<block>`)
         */
        asOf?: string;
    };
    url: '/api/orders/borrow/{state}';
};

export type GetBorrowOrdersErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * There is no such thing
     */
    404: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetBorrowOrdersError = GetBorrowOrdersErrors[keyof GetBorrowOrdersErrors];

export type GetBorrowOrdersResponses = {
    /**
     * Requests to borrow FIL
     */
    200: BorrowOrders;
};

export type GetBorrowOrdersResponse = GetBorrowOrdersResponses[keyof GetBorrowOrdersResponses];

export type GetLendOrdersData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * `available`: nobody took it yet; `closed`: every later state; or a state as in the answers
         */
        state: 'available' | 'closed' | '0' | '0.5' | '1' | '2' | '3' | '4' | '5' | '6';
    };
    query?: {
        /**
         * The `next` of the page before
         */
        before?: string;
        /**
         * Loans of a page, 1 to 200
         */
        limit?: string;
        /**
         * Answers as of a moment: just after a record (its id), at a time, or at a block of a network (`<network>@<block>`)
         */
        asOf?: string;
    };
    url: '/api/orders/lend/{state}';
};

export type GetLendOrdersErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * There is no such thing
     */
    404: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetLendOrdersError = GetLendOrdersErrors[keyof GetLendOrdersErrors];

export type GetLendOrdersResponses = {
    /**
     * Offers to lend tokens
     */
    200: LendOrders;
};

export type GetLendOrdersResponse = GetLendOrdersResponses[keyof GetLendOrdersResponses];

export type GetLoansOfAccountData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * An EVM address with or without its checksum, or a Filecoin address with either letter
         */
        account: string;
    };
    query?: {
        /**
         * The `next` of the page before
         */
        before?: string;
        /**
         * Loans of a page, 1 to 200
         */
        limit?: string;
        /**
         * Answers as of a moment: just after a record (its id), at a time, or at a block of a network (`<network>@<block>`)
         */
        asOf?: string;
    };
    url: '/api/loans/account/{account}';
};

export type GetLoansOfAccountErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * There is no such thing
     */
    404: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetLoansOfAccountError = GetLoansOfAccountErrors[keyof GetLoansOfAccountErrors];

export type GetLoansOfAccountResponses = {
    /**
     * Loans that the account borrows or lends, a page of both markets together; empty for an unknown account
     */
    200: AccountLoans;
};

export type GetLoansOfAccountResponse = GetLoansOfAccountResponses[keyof GetLoansOfAccountResponses];

export type GetLoansOfChannelData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * A Filecoin address with either letter: the ID, or the robust address
         */
        channel: string;
    };
    query?: never;
    url: '/api/loans/channel/{channel}';
};

export type GetLoansOfChannelErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetLoansOfChannelError = GetLoansOfChannelErrors[keyof GetLoansOfChannelErrors];

export type GetLoansOfChannelResponses = {
    /**
     * The loan of a payment channel, one for each network that has the channel
     */
    200: ChannelLoans;
};

export type GetLoansOfChannelResponse = GetLoansOfChannelResponses[keyof GetLoansOfChannelResponses];

export type GetProtocolContractsData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path?: never;
    query?: never;
    url: '/api/protocolContracts';
};

export type GetProtocolContractsErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetProtocolContractsError = GetProtocolContractsErrors[keyof GetProtocolContractsErrors];

export type GetProtocolContractsResponses = {
    /**
     * The contracts of each EVM chain
     */
    200: ProtocolContracts;
};

export type GetProtocolContractsResponse = GetProtocolContractsResponses[keyof GetProtocolContractsResponses];

export type GetLoanAssetsData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path: {
        /**
         * An EVM chain id, or ALL
         */
        networkId: string;
    };
    query?: never;
    url: '/api/loanAssets/{networkId}';
};

export type GetLoanAssetsErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetLoanAssetsError = GetLoanAssetsErrors[keyof GetLoanAssetsErrors];

export type GetLoanAssetsResponses = {
    /**
     * The tokens that loans name
     */
    200: LoanAssets;
};

export type GetLoanAssetsResponse = GetLoanAssetsResponses[keyof GetLoanAssetsResponses];

export type GetDailyFiguresData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path?: never;
    query?: {
        /**
         * The first day (UTC); the 30 days up to `to` when omitted
         */
        from?: string;
        /**
         * The last day (UTC), included; today when omitted
         */
        to?: string;
        /**
         * Markets
         */
        loanType?: Array<'ERC20FIL' | 'FILERC20'>;
    };
    url: '/api/stats/daily';
};

export type GetDailyFiguresErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetDailyFiguresError = GetDailyFiguresErrors[keyof GetDailyFiguresErrors];

export type GetDailyFiguresResponses = {
    /**
     * Days on which no loan of a token was opened or ended are left out
     */
    200: DailyAnswer;
};

export type GetDailyFiguresResponse = GetDailyFiguresResponses[keyof GetDailyFiguresResponses];

export type GetStatusData = {
    body?: never;
    headers?: {
        /**
         * The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503
         */
        'X-Min-Position'?: string;
    };
    path?: never;
    query?: never;
    url: '/api/status';
};

export type GetStatusErrors = {
    /**
     * A parameter is malformed or unknown
     */
    400: ErrorAnswer;
    /**
     * Too many requests of this client
     */
    429: ErrorAnswer;
    /**
     * A fault of the service
     */
    500: ErrorAnswer;
    /**
     * The database is away, or the API is overloaded
     */
    503: ErrorAnswer;
};

export type GetStatusError = GetStatusErrors[keyof GetStatusErrors];

export type GetStatusResponses = {
    /**
     * Every network that is followed or was indexed
     */
    200: StatusAnswer;
};

export type GetStatusResponse = GetStatusResponses[keyof GetStatusResponses];

export type GetLivenessData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/healthz';
};

export type GetLivenessResponses = {
    /**
     * This process lives
     */
    200: LivenessAnswer;
};

export type GetLivenessResponse = GetLivenessResponses[keyof GetLivenessResponses];

export type GetReadinessData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/readyz';
};

export type GetReadinessErrors = {
    /**
     * A network is behind, or the database is away; without `payload` when it is away
     */
    503: ReadinessAnswer;
};

export type GetReadinessError = GetReadinessErrors[keyof GetReadinessErrors];

export type GetReadinessResponses = {
    /**
     * Every followed network is fresh
     */
    200: ReadinessAnswer;
};

export type GetReadinessResponse = GetReadinessResponses[keyof GetReadinessResponses];
