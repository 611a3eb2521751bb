import t, { type Test } from 'tap'
import { searchQuery } from '../../../api/schemas/activity.ts'
import { firstMistake, loanParams, noQuery, pageParams } from '../../../api/schemas/parameters.ts'
import { readStatement } from '../../../indexer/ingest/verify-statement.ts'
import { environmentSchema, loadEnvironment, parseNetworks } from '../../../shared/config/config.ts'
import { messageOf } from '../../../shared/errors.ts'
import { parseHandedIn } from '../../../shared/events/handed-in.ts'

/** Mistakes at each boundary: one line in our own words, which names the place and what is wanted there. */

const ADDRESS = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
/** The validator's own words. */
const VALIDATOR = /invalid|expected|received|unrecognized|too (big|small):/i
const WRONG: unknown[] = [undefined, null, true, 7, -1, 1.5, 1e300, '', 'text', [], [7], {}, { unknown: 1 }]

const EVM = {
  blockchain: 'ETH',
  networkId: '1',
  rpcUrls: ['http://127.0.0.1:8545'],
  wsUrl: 'ws://127.0.0.1:8545',
  confirmations: 0,
  maxBlockRange: 2000,
  pollIntervalMs: 1000,
  erc20Loans: { address: ADDRESS, startBlock: 0, idPrefix: 'a' },
}
const FILECOIN = {
  networkId: 'testnet',
  rpcUrls: ['http://127.0.0.1:1234/rpc/v1'],
  token: 'token',
  startEpoch: 0,
  confidence: 0,
  pollIntervalMs: 5000,
  readVoucherStore: true,
}

function mistakeIn(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return messageOf(error)
  }
  return ''
}

const networks = (json: unknown): string => mistakeIn(() => parseNetworks(json, 'n.json', {}))
const evm = (change: object): string => networks({ evm: [{ ...EVM, ...change }] })
const filecoin = (change: object): string => networks({ filecoin: [{ ...FILECOIN, ...change }] })
const environment = (variables: Record<string, string>): string => mistakeIn(() => loadEnvironment(variables))
const handedIn = (data: unknown): string => {
  const parsed = parseHandedIn(data)
  return parsed.ok ? '' : parsed.reason
}
const statement = (fields: unknown): string => {
  const read = readStatement({
    message: fields === undefined ? '' : JSON.stringify(fields),
    signature: '00'.repeat(65),
  })
  return read.ok ? '' : read.reason
}
const parameters =
  (schema: typeof searchQuery | typeof loanParams | typeof noQuery | typeof pageParams) =>
  (data: unknown): string => {
    const { error } = schema.safeParse(data)
    return error === undefined ? '' : firstMistake(error)
  }
const search = parameters(searchQuery)

void t.test('each kind of mistake has one line', (t) => {
  const file = 'NETWORKS_FILE n.json: '
  const lines: [told: string, line: string][] = [
    [evm({ blockchain: undefined }), `${file}evm.0.blockchain: is missing`],
    [evm({ blockchain: 1 }), `${file}evm.0.blockchain: must be text, not a number`],
    [evm({ blockchain: '' }), `${file}evm.0.blockchain: must not be empty`],
    [evm({ blockchain: 'x'.repeat(65) }), `${file}evm.0.blockchain: must have at most 64 characters`],
    [evm({ rpcUrls: 'http://h' }), `${file}evm.0.rpcUrls: must be a list, not text`],
    [evm({ rpcUrls: ['h'] }), `${file}evm.0.rpcUrls.0: must be an http:// or https:// URL`],
    [evm({ confirmations: '3' }), `${file}evm.0.confirmations: must be a number, not text`],
    [evm({ confirmations: 1.5 }), `${file}evm.0.confirmations: must be a whole number`],
    [evm({ confirmations: -1 }), `${file}evm.0.confirmations: must be at least 0`],
    [evm({ maxBlockRange: 1e7 }), `${file}evm.0.maxBlockRange: must be at most 1000000`],
    [evm({ erc20Loans: ADDRESS }), `${file}evm.0.erc20Loans: must be an object, not text`],
    [
      evm({ erc20Loans: { address: '0x12' } }),
      `${file}evm.0.erc20Loans.address: must be 0x and 40 hex digits`,
    ],
    [evm({ rpcUrl: 'http://h' }), `${file}evm.0: has the unknown key "rpcUrl"`],
    [
      filecoin({ readVoucherStore: 'no' }),
      `${file}filecoin.0.readVoucherStore: must be true or false, not text`,
    ],
    [filecoin({ token: false }), `${file}filecoin.0.token: must be text, not false`],
    [networks({ evms: [] }), `${file}has the unknown key "evms"`],
    [networks('text'), `${file}must be an object, not text`],
    [
      environment({ LOG_LEVEL: 'loud' }),
      'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent',
    ],
    [environment({ API_PORT: 'http' }), 'API_PORT must be a port number'],
    [handedIn(7), 'it is no JSON object'],
    [handedIn({ voucher: 7 }), 'voucher must be text, not a number'],
    [handedIn({ voucher: '' }), 'voucher must not be empty'],
    [handedIn({ voucher: 'x'.repeat(5_465) }), 'voucher must have at most 5464 characters'],
    [handedIn({ voucher: 'x', nonce: 1 }), 'it has the unknown key "nonce"'],
    [handedIn({ voucher: 'x', network: '' }), 'network must not be empty'],
    [handedIn({ statement: {} }), 'statement.message is missing'],
    [
      handedIn({ statement: { message: '{}', signature: '00' } }),
      'statement.signature must be the 65 bytes r, s and recovery id as hex',
    ],
    [statement([]), 'the statement must be an object, not a list'],
    [
      statement({ contractLoanId: '1e3' }),
      'the statement’s contractLoanId must be a whole number of at most 78 digits',
    ],
    [
      statement({ contractLoanId: 1, erc20LoansContract: '0x12' }),
      'the statement’s erc20LoansContract must be 0x and 40 hex digits',
    ],
    [
      statement({ contractLoanId: 1, secretHashA1: 'short' }),
      'the statement’s secretHashA1 must be 64 hex digits',
    ],
    [
      statement({ contractLoanId: 1, paymentChannelId: 'f'.repeat(116) }),
      'the statement’s paymentChannelId must have at most 115 characters',
    ],
    [search({ limit: '0' }), 'limit must be an integer from 1 to 200'],
    [search({ loanType: 'FIL' }), 'loanType must be one of ERC20FIL, FILERC20'],
    [search({ limit: ['1', '2'] }), 'limit must be given once'],
    [search({ Limit: '1' }), 'there is no parameter "Limit" here'],
  ]
  for (const [told, line] of lines) t.equal(told, line)
  t.end()
})

/** Every value of the object, however deep, replaced by every wrong one. */
function* spoiled(value: unknown): Generator {
  yield* WRONG
  if (Array.isArray(value)) {
    for (const one of spoiled(value[0])) yield [one]
  } else if (value !== null && typeof value === 'object') {
    for (const [key, part] of Object.entries(value))
      for (const one of spoiled(part)) yield { ...value, [key]: one }
    yield { ...value, unknown: 1 }
    yield { ...value, 'https://rpc.example/token': 1 }
  }
}

function isOurs(t: Test, told: string): void {
  t.notMatch(told, VALIDATOR)
  t.notMatch(told, /\n|undefined|\[object|is malformed/)
}

void t.test('the validator’s words reach nobody, whatever is wrong', (t) => {
  let mistakes = 0
  const walk = (value: unknown, told: (spoilt: unknown) => string): void => {
    for (const one of spoiled(value)) {
      const mistake = told(one)
      if (mistake === '') continue
      mistakes += 1
      isOurs(t, mistake)
    }
  }
  walk({ evm: [EVM], filecoin: [FILECOIN] }, networks)
  walk({ network: 'testnet', voucher: 'x' }, handedIn)
  walk({ network: 'testnet', statement: { message: '{}', signature: '00'.repeat(65) } }, handedIn)
  walk(
    {
      ...{ contractLoanId: '1', erc20LoansContract: ADDRESS, erc20LoansNetworkId: '1', networkId: 1 },
      ...{ paymentChannelAddress: 't2', paymentChannelId: 't01', secretHashB1: '00'.repeat(32) },
    },
    statement,
  )
  const names = ['before', 'limit', 'loanId', 'loanType', 'event', 'blockchain', 'networkId', 'txHash']
  walk(Object.fromEntries(names.map((name) => [name, 'x'])), (query) =>
    typeof query === 'object' && query !== null && !Array.isArray(query) ? search(query) : '',
  )
  for (const name of names) isOurs(t, search({ [name]: '\0'.repeat(2000) }))
  for (const page of ['0', '-1', 'x', ['1', '2']]) isOurs(t, parameters(pageParams)({ page }))
  for (const loanId of ['x', '1'.repeat(79), '1.5']) isOurs(t, parameters(loanParams)({ loanId }))
  isOurs(t, parameters(noQuery)({ page: '1' }))
  for (const name of Object.keys(environmentSchema.shape)) {
    for (const text of ['', 'text', '-1', '1.5', '\n', 'x'.repeat(10_000)])
      isOurs(t, environment({ [name]: text }))
  }
  t.ok(mistakes > 200, `${mistakes} mistakes`)
  t.end()
})
