import { AbiCoder, getAddress } from 'ethers'
import { EVENT_LAYOUTS, functionLayout, INTERFACES } from '../../../indexer/sources/evm/contracts.ts'
import { decodeHeader, decodeLogs } from '../../../indexer/sources/evm/decode-answer.ts'
import { decodeDirectCall, decodeLoan, type LoanState } from '../../../indexer/sources/evm/decode-loan.ts'
import { decodeLog, type DecodedLog } from '../../../indexer/sources/evm/decode-log.ts'
import { BadAnswer } from '../../../indexer/sources/rpc/rpc-error.ts'
import type { ContractRole } from '../../../shared/events/chain-event.ts'
import { MILLION, must, mustBeStorable, shown, type FuzzTarget, type Outcome } from '../fuzz-target.ts'
import { bytesLike, hexOf, mutatedBytes } from '../mutate-bytes.ts'
import { jsonLike, jsonSample } from '../mutate-json.ts'
import { FuzzRandom } from '../random.ts'

const ROLES: readonly ContractRole[] = ['erc20Loans', 'erc20CollateralLock']
const coder = AbiCoder.defaultAbiCoder()

/** Returns values that the contracts could write; `random` is the samples' own. */
function abiValue(random: FuzzRandom, type: string): unknown {
  const list = /^(.+)\[(\d)\]$/.exec(type)
  if (list !== null) return Array.from({ length: Number(list[2]) }, () => abiValue(random, list[1] ?? ''))
  if (type === 'address') return getAddress(hexOf(random.bytes(20)))
  if (type === 'bytes32') return hexOf(random.bytes(32))
  if (type === 'bytes') return hexOf(random.bytes(random.pick([0, 1, 31, 32, 41, 64, 200])))
  if (type === 'uint8') return random.below(7)
  return BigInt(hexOf(random.bytes(random.pick([1, 8, 32]))))
}

function abiSamples(seed: string, types: readonly string[], count: number): Uint8Array[] {
  const random = new FuzzRandom(seed)
  return Array.from({ length: count }, () => {
    const values = types.map((type) => abiValue(random, type))
    // A Buffer's slices share its memory, and samples must not change.
    return Uint8Array.from(Buffer.from(coder.encode(types, values).slice(2), 'hex'))
  })
}

/** ABI data is words of 32 bytes, many of them offsets and lengths, so mutations change whole words. */
function abiLike(random: FuzzRandom, samples: readonly Uint8Array[]): Uint8Array {
  if (random.chance(0.4)) return bytesLike(random, samples)
  let data = random.pick(samples).slice()
  for (let changes = 1 + random.below(3); changes > 0; changes -= 1) {
    const words = Math.max(1, Math.floor(data.length / 32))
    data.set(hostileWord(random, data.length).subarray(0, data.length), 32 * random.below(words))
  }
  if (random.chance(0.1)) data = mutatedBytes(random, data).slice()
  return random.chance(0.003)
    ? Buffer.concat([data, new Uint8Array(random.pick([65_000, 66_000, 200_000]))])
    : data
}

function hostileWord(random: FuzzRandom, length: number): Uint8Array {
  const small = [0, 1, 31, 32, 64, 96, 160, length, length - 32, 2 ** 31, 2 ** 32 - 1]
  switch (random.below(4)) {
    case 0:
      return new Uint8Array(32).fill(random.pick([0x00, 0x7f, 0x80, 0xff]))
    case 1:
      return random.bytes(32)
    case 2: {
      const word = new Uint8Array(32)
      word[random.below(32)] = 1 << random.below(8)
      return word
    }
    default: {
      const word = Buffer.alloc(32)
      word.writeUInt32BE(random.pick(small) >>> 0, 28)
      return word
    }
  }
}

interface LogInput {
  role: ContractRole
  topics: string[]
  data: string
  isCompared: boolean
}

function checkLog({ role, topics, data, isCompared }: LogInput): Outcome {
  const decoded = decodeLog(role, { topics, data })
  mustBeStorable(decoded)
  if (decoded.kind !== 'Undecodable') {
    if (isCompared) compareWithEthers(role, topics, data, decoded)
    return 'taken'
  }
  must(decoded.dataBytes === data.length / 2 - 1, 'the data’s length is told')
  must(decoded.dataHead.length <= 514 && decoded.reason.length < 300, 'what is kept of it is short')
  return 'refused'
}

function compareWithEthers(role: ContractRole, topics: string[], data: string, decoded: DecodedLog): void {
  if (decoded.kind === 'Undecodable') return
  const parsed = INTERFACES[role].parseLog({ topics, data })
  const ours: Record<string, unknown> = { loanId: decoded.contractLoanId, ...decoded.args }
  must(parsed?.name === decoded.kind, 'ethers finds the same event')
  for (const [index, { name }] of (parsed?.fragment.inputs ?? []).entries())
    must(String(parsed?.args[index]) === ours[name], `ethers finds the same ${name}`)
}

const evmLog: FuzzTarget = {
  name: 'evm-log',
  about: 'logs of a contract: an event as ethers decodes it, or undecodable and short; never an exception',
  cases: MILLION,
  quickCases: 1_000,
  open: () => {
    const layouts = ROLES.flatMap((role) =>
      [...EVENT_LAYOUTS[role].values()].map((layout) => ({
        ...{ role, topic: layout.topic },
        samples: abiSamples(layout.kind, layout.types, 8),
      })),
    )
    const make = (random: FuzzRandom): LogInput => {
      const layout = random.pick(layouts)
      const { samples } = random.chance(0.95) ? layout : random.pick(layouts)
      const surplus = random.chance(0.95)
        ? []
        : Array.from({ length: random.below(5) }, () => hexOf(random.bytes(32)))
      const topics = random.chance(0.98) ? [layout.topic, ...surplus] : surplus
      const data = random.chance(0.15) ? random.pick(samples) : abiLike(random, samples)
      return { role: layout.role, topics, data: hexOf(data), isCompared: random.chance(0.2) }
    }
    return {
      make: (random) => {
        const input = make(random)
        return { feed: () => checkLog(input), show: () => shown(input) }
      },
    }
  },
}

const DIRECT_CALLS = {
  erc20Loans: ['createLoanOffer'],
  erc20CollateralLock: ['createBorrowRequest', 'unlockCollateral', 'seizeCollateral'],
} as const
const CONTRACT = '0x5FbDB2315678afecb367f032d93F642f64180aa3'

/** `decodeLoan` may throw any error: its caller treats all of them alike. */
function loanOrNothing(role: ContractRole, data: string): LoanState | null {
  try {
    return decodeLoan(role, data)
  } catch (error) {
    must(error instanceof Error, 'what is thrown is an error')
    return null
  }
}

const evmLoan: FuzzTarget = {
  name: 'evm-loan',
  about: 'answers of fetchLoan and inputs of direct calls: exact values, or a reason',
  cases: MILLION,
  quickCases: 400,
  open: () => {
    const loans = ROLES.map((role) => ({
      role,
      samples: abiSamples(`fetchLoan of ${role}`, functionLayout(role, 'fetchLoan').outputs, 16),
    }))
    const calls = ROLES.flatMap((role) =>
      DIRECT_CALLS[role].map((name) => {
        const { selector, types } = functionLayout(role, name)
        return { role, name, selector, samples: abiSamples(name, types, 8) }
      }),
    )
    const feedLoan = (role: ContractRole, data: string): Outcome => {
      const loan = loanOrNothing(role, data)
      if (loan === null) return 'refused'
      mustBeStorable(loan)
      must(Number.isInteger(loan.state) && loan.state >= 0 && loan.state < 256, 'a state of 8 bits')
      return 'taken'
    }
    const feedCall = ({ role, name }: (typeof calls)[number], input: string): Outcome => {
      const from = CONTRACT.toLowerCase()
      const fields = decodeDirectCall(role, CONTRACT, name, { from, to: from, input })
      if (typeof fields !== 'string') return 'taken'
      must(fields.length < 200, 'a short reason')
      return 'refused'
    }
    return {
      make: (random) => {
        if (random.chance(0.4)) {
          const { role, samples } = random.pick(loans)
          const data = hexOf(abiLike(random, samples))
          return { feed: () => feedLoan(role, data), show: () => shown({ role, data }) }
        }
        const call = random.pick(calls)
        const input = call.selector + hexOf(abiLike(random, call.samples)).slice(2)
        return { feed: () => feedCall(call, input), show: () => shown({ name: call.name, input }) }
      },
    }
  },
}

function log(index: number): object {
  const topic = [...EVENT_LAYOUTS.erc20Loans.keys()][index] ?? ''
  return {
    address: CONTRACT.toLowerCase(),
    topics: [topic],
    data: `0x${'00'.repeat(31)}01`.padEnd(2 + 4 * 64, '0'),
    blockNumber: '0x10',
    blockHash: `0x${'ab'.repeat(32)}`,
    transactionHash: `0x${'cd'.repeat(32)}`,
    transactionIndex: '0x0',
    logIndex: `0x${index.toString(16)}`,
    removed: false,
  }
}

const HEADER = {
  number: '0x10',
  hash: `0x${'ab'.repeat(32)}`,
  parentHash: `0x${'aa'.repeat(32)}`,
  timestamp: '0x6553f100',
  logsBloom: `0x${'00'.repeat(256)}`,
  transactions: [`0x${'cd'.repeat(32)}`],
}

function feedAnswer(text: string): Outcome {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return 'refused'
    throw error
  }
  const logs = orBadAnswer(() => decodeLogs(value))
  for (const [index, { topics, data, blockNumber, logIndex }] of (logs ?? []).entries()) {
    const before = logs?.[index - 1]
    must(
      before === undefined || before.blockNumber < blockNumber || before.logIndex < logIndex,
      'logs in order',
    )
    decodeLog('erc20Loans', { topics, data })
  }
  const header = orBadAnswer(() => decodeHeader(value))
  if (header !== null) must(Number.isSafeInteger(header.number) && header.hash.length === 66, 'a header')
  return logs === null && header === null ? 'refused' : 'taken'
}

function orBadAnswer<T>(decode: () => T): T | null {
  try {
    return decode()
  } catch (error) {
    if (error instanceof BadAnswer) return null
    throw error
  }
}

const evmAnswer: FuzzTarget = {
  name: 'evm-answer',
  about: 'JSON of an EVM node: headers and logs in order, or a BadAnswer',
  cases: MILLION,
  quickCases: 1_000,
  open: () => {
    const samples = [
      [],
      [log(0)],
      [log(0), log(1), log(2)],
      HEADER,
      HEADER,
      { ...HEADER, transactions: [] },
    ].map((sample) => jsonSample(JSON.stringify(sample)))
    return {
      make: (random) => {
        const text = jsonLike(random, samples)
        return { feed: () => feedAnswer(text), show: () => shown(text) }
      },
    }
  },
}

export const EVM_TARGETS: readonly FuzzTarget[] = [evmLog, evmLoan, evmAnswer]
