// Made by `npm run client` from the OpenAPI document.
// @ts-nocheck

import { client } from './client.gen.js';
import type { Client, Options as Options2, TDataShape } from './client/index.js';
import type { GetBorrowOrdersData, GetBorrowOrdersErrors, GetBorrowOrdersResponses, GetDailyFiguresData, GetDailyFiguresErrors, GetDailyFiguresResponses, GetErc20LoanData, GetErc20LoanErrors, GetErc20LoanNextData, GetErc20LoanNextErrors, GetErc20LoanNextResponses, GetErc20LoanResponses, GetErc20LoanVouchersData, GetErc20LoanVouchersErrors, GetErc20LoanVouchersResponses, GetFilLoanData, GetFilLoanErrors, GetFilLoanNextData, GetFilLoanNextErrors, GetFilLoanNextResponses, GetFilLoanResponses, GetFilLoanVouchersData, GetFilLoanVouchersErrors, GetFilLoanVouchersResponses, GetHistoryPageData, GetHistoryPageErrors, GetHistoryPageResponses, GetLendOrdersData, GetLendOrdersErrors, GetLendOrdersResponses, GetLivenessData, GetLivenessResponses, GetLoanAssetsData, GetLoanAssetsErrors, GetLoanAssetsResponses, GetLoansOfAccountData, GetLoansOfAccountErrors, GetLoansOfAccountResponses, GetLoansOfChannelData, GetLoansOfChannelErrors, GetLoansOfChannelResponses, GetNewestHistoryData, GetNewestHistoryErrors, GetNewestHistoryResponses, GetProtocolContractsData, GetProtocolContractsErrors, GetProtocolContractsResponses, GetReadinessData, GetReadinessErrors, GetReadinessResponses, GetRecordData, GetRecordErrors, GetRecordResponses, GetStatusData, GetStatusErrors, GetStatusResponses, SearchActivityData, SearchActivityErrors, SearchActivityResponses, StreamActivityData, StreamActivityErrors, StreamActivityResponse, StreamActivityResponses } from './types.gen.js';

export type Options<TData extends TDataShape = TDataShape, ThrowOnError extends boolean = boolean, TResponse = unknown> = Options2<TData, ThrowOnError, TResponse> & {
    /**
     * You can provide a client instance returned by `createClient()` instead of
     * individual options. This might be also useful if you want to implement a
     * custom client.
     */
    client?: Client;
    /**
     * You can pass arbitrary values through the `meta` object. This can be
     * used to access values that aren't defined as part of the SDK function.
     */
    meta?: Record<string, unknown>;
};

/**
 * The newest 25 records
 */
export const getNewestHistory = <ThrowOnError extends boolean = false>(options?: Options<GetNewestHistoryData, ThrowOnError>) => (options?.client ?? client).get<GetNewestHistoryResponses, GetNewestHistoryErrors, ThrowOnError>({ url: '/api/activity/history', ...options });

/**
 * A page of the history by its number
 */
export const getHistoryPage = <ThrowOnError extends boolean = false>(options: Options<GetHistoryPageData, ThrowOnError>) => (options.client ?? client).get<GetHistoryPageResponses, GetHistoryPageErrors, ThrowOnError>({ url: '/api/activity/history/{page}', ...options });

/**
 * Records by filters, page by page
 */
export const searchActivity = <ThrowOnError extends boolean = false>(options?: Options<SearchActivityData, ThrowOnError>) => (options?.client ?? client).get<SearchActivityResponses, SearchActivityErrors, ThrowOnError>({ url: '/api/activity', ...options });

/**
 * Changes of the history as they happen
 */
export const streamActivity = <ThrowOnError extends boolean = false>(options?: Options<StreamActivityData, ThrowOnError, StreamActivityResponse>) => (options?.client ?? client).sse.get<StreamActivityResponses, StreamActivityErrors, ThrowOnError>({ url: '/api/activity/stream', ...options });

/**
 * A record, and how this service knows it
 */
export const getRecord = <ThrowOnError extends boolean = false>(options: Options<GetRecordData, ThrowOnError>) => (options.client ?? client).get<GetRecordResponses, GetRecordErrors, ThrowOnError>({ url: '/api/activity/{id}', ...options });

/**
 * A loan of tokens against FIL
 */
export const getErc20Loan = <ThrowOnError extends boolean = false>(options: Options<GetErc20LoanData, ThrowOnError>) => (options.client ?? client).get<GetErc20LoanResponses, GetErc20LoanErrors, ThrowOnError>({ url: '/api/loan/ERC20/{loanId}', ...options });

/**
 * A loan of FIL against tokens
 */
export const getFilLoan = <ThrowOnError extends boolean = false>(options: Options<GetFilLoanData, ThrowOnError>) => (options.client ?? client).get<GetFilLoanResponses, GetFilLoanErrors, ThrowOnError>({ url: '/api/loan/FIL/{loanId}', ...options });

/**
 * The next actions of the parties of a loan
 */
export const getErc20LoanNext = <ThrowOnError extends boolean = false>(options: Options<GetErc20LoanNextData, ThrowOnError>) => (options.client ?? client).get<GetErc20LoanNextResponses, GetErc20LoanNextErrors, ThrowOnError>({ url: '/api/loan/ERC20/{loanId}/next', ...options });

/**
 * The vouchers of a loan
 */
export const getErc20LoanVouchers = <ThrowOnError extends boolean = false>(options: Options<GetErc20LoanVouchersData, ThrowOnError>) => (options.client ?? client).get<GetErc20LoanVouchersResponses, GetErc20LoanVouchersErrors, ThrowOnError>({ url: '/api/loan/ERC20/{loanId}/vouchers', ...options });

/**
 * The next actions of the parties of a loan
 */
export const getFilLoanNext = <ThrowOnError extends boolean = false>(options: Options<GetFilLoanNextData, ThrowOnError>) => (options.client ?? client).get<GetFilLoanNextResponses, GetFilLoanNextErrors, ThrowOnError>({ url: '/api/loan/FIL/{loanId}/next', ...options });

/**
 * The vouchers of a loan
 */
export const getFilLoanVouchers = <ThrowOnError extends boolean = false>(options: Options<GetFilLoanVouchersData, ThrowOnError>) => (options.client ?? client).get<GetFilLoanVouchersResponses, GetFilLoanVouchersErrors, ThrowOnError>({ url: '/api/loan/FIL/{loanId}/vouchers', ...options });

/**
 * Requests to borrow FIL by their state
 */
export const getBorrowOrders = <ThrowOnError extends boolean = false>(options: Options<GetBorrowOrdersData, ThrowOnError>) => (options.client ?? client).get<GetBorrowOrdersResponses, GetBorrowOrdersErrors, ThrowOnError>({ url: '/api/orders/borrow/{state}', ...options });

/**
 * Offers to lend tokens by their state
 */
export const getLendOrders = <ThrowOnError extends boolean = false>(options: Options<GetLendOrdersData, ThrowOnError>) => (options.client ?? client).get<GetLendOrdersResponses, GetLendOrdersErrors, ThrowOnError>({ url: '/api/orders/lend/{state}', ...options });

/**
 * Loans that an account borrows or lends
 */
export const getLoansOfAccount = <ThrowOnError extends boolean = false>(options: Options<GetLoansOfAccountData, ThrowOnError>) => (options.client ?? client).get<GetLoansOfAccountResponses, GetLoansOfAccountErrors, ThrowOnError>({ url: '/api/loans/account/{account}', ...options });

/**
 * The loan of a payment channel
 */
export const getLoansOfChannel = <ThrowOnError extends boolean = false>(options: Options<GetLoansOfChannelData, ThrowOnError>) => (options.client ?? client).get<GetLoansOfChannelResponses, GetLoansOfChannelErrors, ThrowOnError>({ url: '/api/loans/channel/{channel}', ...options });

/**
 * The contracts of each EVM chain
 */
export const getProtocolContracts = <ThrowOnError extends boolean = false>(options?: Options<GetProtocolContractsData, ThrowOnError>) => (options?.client ?? client).get<GetProtocolContractsResponses, GetProtocolContractsErrors, ThrowOnError>({ url: '/api/protocolContracts', ...options });

/**
 * The tokens that loans name
 */
export const getLoanAssets = <ThrowOnError extends boolean = false>(options: Options<GetLoanAssetsData, ThrowOnError>) => (options.client ?? client).get<GetLoanAssetsResponses, GetLoanAssetsErrors, ThrowOnError>({ url: '/api/loanAssets/{networkId}', ...options });

/**
 * Loans opened and ended, day by day
 */
export const getDailyFigures = <ThrowOnError extends boolean = false>(options?: Options<GetDailyFiguresData, ThrowOnError>) => (options?.client ?? client).get<GetDailyFiguresResponses, GetDailyFiguresErrors, ThrowOnError>({ url: '/api/stats/daily', ...options });

/**
 * How far every network is indexed
 */
export const getStatus = <ThrowOnError extends boolean = false>(options?: Options<GetStatusData, ThrowOnError>) => (options?.client ?? client).get<GetStatusResponses, GetStatusErrors, ThrowOnError>({ url: '/api/status', ...options });

/**
 * Whether this process lives
 */
export const getLiveness = <ThrowOnError extends boolean = false>(options?: Options<GetLivenessData, ThrowOnError>) => (options?.client ?? client).get<GetLivenessResponses, unknown, ThrowOnError>({ url: '/healthz', ...options });

/**
 * Whether the answers are fresh
 */
export const getReadiness = <ThrowOnError extends boolean = false>(options?: Options<GetReadinessData, ThrowOnError>) => (options?.client ?? client).get<GetReadinessResponses, GetReadinessErrors, ThrowOnError>({ url: '/readyz', ...options });
