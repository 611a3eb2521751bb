import { AbiCoder, id as topicOf, getAddress } from 'ethers'
import t from 'tap'
import type { Test } from 'tap'
import type { ChainEvent, EvmEventKind, EvmLoanEvent } from '../../../shared/events/chain-event.ts'
import { createEvmSource, type EvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { RetryableError } from '../../../shared/errors.ts'
import { startProxy, type Proxy, type Reply, type Request } from './faulty-proxy.ts'
import { ABI, hashOf, hex, startLittleChain, type LittleChain } from './little-chain.ts'

type EventOf<K extends EvmEventKind> = Extract<EvmLoanEvent, { kind: K }>

function only<K extends EvmEventKind>(events: readonly ChainEvent[], kind: K): EventOf<K> {
  const found = events.filter((event): event is EventOf<K> => event.kind === kind)
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} events ${kind}`)
  return found[0]
}

/** Everything up to the head, read by height and by hash: both ways say the same. */
async function readAll(t: Test, chain: LittleChain, source: EvmSource): Promise<ChainEvent[]> {
  const head = Number(await chain.rpc('eth_blockNumber'))
  const range = await source.readRange(0, head)
  const tip = await source.readBlocks(await source.headers(0, head))
  t.same(tip.events, range.events, 'by height and by hash')
  return range.events
}

const A1 = hex('borrower’s secret')
const B1 = hex('lender’s secret')
const FETCH_LOAN = ABI.loans.getFunction('fetchLoan')?.selector ?? 'none'

async function opened(t: Test, chain: LittleChain, changes = {}): Promise<EvmSource> {
  const source = createEvmSource(chain.network(changes))
  t.teardown(() => source.close())
  await source.check()
  return source
}

const offer = (token: string): string =>
  ABI.loans.encodeFunctionData('createLoanOffer', [hashOf(B1), hex('t1lender'), 100n, 7n, token, 1000n])
const request = (token: string): string =>
  ABI.lock.encodeFunctionData('createBorrowRequest', [hashOf(A1), hex('t1b'), 100n, token, 50n, 3n, 1000n])

void t.test('terms come from fetchLoan at the event’s block, decimals from the token', async (t) => {
  const chain = await startLittleChain(t)
  const [lender = '', borrower = ''] = chain.accounts
  const [six = '', eighteen = '', none = '', absurd = ''] = chain.tokens
  for (const token of [six, eighteen, none, absurd]) {
    await chain.send(lender, chain.loans, offer(token))
    await chain.mine()
  }
  await chain.send(borrower, chain.lock, request(six))
  await chain.mine()
  const approve = [1n, borrower, hex('t1b'), hashOf(A1), `0x${'ab'.repeat(32)}`, 9n]
  await chain.send(lender, chain.loans, ABI.loans.encodeFunctionData('approveRequest', approve))
  const accept = [1n, lender, hex('t1l'), hashOf(B1), `0x${'cd'.repeat(32)}`, 40n]
  await chain.send(borrower, chain.lock, ABI.lock.encodeFunctionData('acceptOffer', accept))
  await chain.mine()
  await chain.rpc('evm_increaseTime', 5000)
  await chain.send(lender, chain.lock, ABI.lock.encodeFunctionData('seizeCollateral', [1n, A1]))
  await chain.mine()
  const source = await opened(t, chain, {
    erc20Loans: { address: chain.loans, startBlock: 0, idPrefix: 'X' },
  })
  const events = await readAll(t, chain, source)

  const offers = events.filter((event) => event.kind === 'CreateLoanOffer')
  t.same(
    offers.map((event) => event.tokenDecimals),
    [6, 18, null, null],
  )
  t.same(offers[0]?.terms, {
    values: {
      secretHashB1: hashOf(B1),
      filLender: hex('t1lender'),
      interest: '7',
      loanExpirationPeriod: '1000',
    },
  })
  t.equal(offers[0]?.loanId, 'X-1')
  t.equal(offers[0]?.contract, getAddress(chain.loans))
  t.same(only(events, 'CreateBorrowRequest').terms.values, {
    secretHashA1: hashOf(A1),
    filBorrower: hex('t1b'),
    principalAmount: '50',
    interestRate: '3',
    loanExpirationPeriod: '1000',
  })
  const approved = only(events, 'ApproveRequest')
  t.same(approved.terms.values, {
    loanExpiration: String(approved.blockTimeS + 1000),
    acceptExpiration: String(approved.blockTimeS + 1000 + 3600),
  })
  t.equal(approved.tokenDecimals, null, 'names no token')
  t.same(only(events, 'AcceptOffer').terms.values, {
    loanExpiration: String(approved.blockTimeS + 1000),
    lockPrice: String(10n ** 18n),
  })
  t.same(only(events, 'SeizeCollateral').terms.values, { liquidationPrice: String(10n ** 18n), secretA1: A1 })
  const seized = events.filter(
    ({ blockNumber }) => blockNumber === only(events, 'SeizeCollateral').blockNumber,
  )
  t.same(
    seized.map(({ kind, txLogIndex }) => `${kind} ${txLogIndex}`),
    ['SeizeCollateral 0', 'UnlockRefundableCollateral 1'],
    'both events of one transaction',
  )

  const block = await source.head()
  const answers = await source.fetchLoanStates(
    [
      { role: 'erc20Loans', contractLoanId: '1' },
      { role: 'erc20CollateralLock', contractLoanId: '1' },
      { role: 'erc20Loans', contractLoanId: '999' },
    ],
    block,
  )
  t.match(answers[0], { loan: { state: 1, principal: '100', interest: '7', secretA1: '0x' } })
  t.match(answers[1], { loan: { state: 2, collateralAmount: '0', secretA1: A1 } })
  t.same(answers[2], { loan: null, reason: 'fetchLoan knows no such loan' })
})

void t.test(
  'what a later transition of the same block zeroed comes from the input, or is unknown',
  async (t) => {
    const chain = await startLittleChain(t)
    const [owner = '', lender = '', borrower = ''] = chain.accounts
    const [six = ''] = chain.tokens
    await chain.send(lender, chain.loans, offer(six))
    await chain.send(lender, chain.loans, ABI.loans.encodeFunctionData('cancelLoan', [1n, B1]))
    await chain.send(borrower, chain.lock, request(six))
    const accept = [1n, lender, hex('t1l'), hashOf(B1), `0x${'cd'.repeat(32)}`, 40n]
    await chain.send(borrower, chain.lock, ABI.lock.encodeFunctionData('acceptOffer', accept))
    await chain.send(borrower, chain.lock, ABI.lock.encodeFunctionData('unlockCollateral', [1n, B1]))
    await chain.mine()
    const batcher = await batcherOf(chain, owner, six)
    await chain.send(
      owner,
      batcher,
      ABI.batcher.encodeFunctionData('batch', [
        [
          [chain.loans, offer(six)],
          [chain.loans, offer(six)],
          [chain.loans, ABI.loans.encodeFunctionData('cancelLoan', [2n, B1])],
        ],
      ]),
    )
    await chain.mine()
    const events = await readAll(t, chain, await opened(t, chain))

    const offers = events.filter((event) => event.kind === 'CreateLoanOffer')
    t.equal(offers[0]?.terms.values.interest, '7', 'from the input')
    const created = only(events, 'CreateBorrowRequest')
    t.equal(created.terms.values.principalAmount, '50', 'as asked for, and not as accepted')
    t.equal(only(events, 'UnlockCollateral').terms.values.secretB1, B1)
    t.match(offers[1]?.terms, {
      values: { interest: null, secretHashB1: hashOf(B1), filLender: hex('t1lender') },
      unknown: { interest: /state 6 already .*; the transaction is no direct call/ },
    })
    t.same(offers[2]?.terms, {
      values: {
        secretHashB1: hashOf(B1),
        filLender: hex('t1lender'),
        interest: '7',
        loanExpirationPeriod: '1000',
      },
    })
    t.same(
      events.filter(({ txHash }) => txHash === offers[2]?.txHash).map(({ txLogIndex }) => txLogIndex),
      [0, 1, 2],
    )
  },
)

void t.test(
  'a state that the block’s own events contradict is asked once more, and then believed',
  async (t) => {
    const chain = await startLittleChain(t)
    const [owner = ''] = chain.accounts
    const [six = ''] = chain.tokens
    const batcher = await batcherOf(chain, owner, six)
    const empty = await chain.rpc('eth_blockNumber')
    const batch = (...calls: string[]): Promise<unknown> =>
      chain.send(
        owner,
        batcher,
        ABI.batcher.encodeFunctionData('batch', [calls.map((call) => [chain.loans, call])]),
      )
    await batch(offer(six))
    await chain.mine()
    const approve = [1n, owner, hex('t1b'), hashOf(A1), `0x${'ab'.repeat(32)}`, 9n]
    await batch(ABI.loans.encodeFunctionData('approveRequest', approve))
    await chain.mine()
    const before = await chain.rpc('eth_blockNumber')
    await batch(ABI.loans.encodeFunctionData('cancelLoan', [1n, B1]))
    await chain.mine()
    const truth = await readAll(t, chain, await opened(t, chain))
    t.match(only(truth, 'CreateLoanOffer').terms, { values: { interest: '7' }, unknown: undefined })

    const asked = new Map<string, number>()
    /** Answers `fetchLoan` as of `block`, whichever was asked for, to the first `lies` times that it is asked. */
    const asOf = (block: unknown, lies: number): Promise<Proxy> => {
      asked.clear()
      return startProxy(t, chain.url, async (requests, truth) => {
        const answers = await truth()
        const lied = new Map<unknown, unknown>()
        for (const { id, method, params } of requests) {
          const question = JSON.stringify(params)
          if (method !== 'eth_call' || !question.includes(FETCH_LOAN)) continue
          asked.set(question, (asked.get(question) ?? 0) + 1)
          if ((asked.get(question) ?? 0) > lies) continue
          lied.set(id, await chain.rpc('eth_call', params[0], block))
        }
        return answers.map((answer) =>
          lied.has(answer.id) ? { id: answer.id, result: lied.get(answer.id) } : answer,
        )
      })
    }
    const head = Number(await chain.rpc('eth_blockNumber'))
    const said: string[] = []
    const readBy = async (...rpcUrls: string[]): Promise<ChainEvent[]> => {
      const report = (_: string, message: string): unknown => said.push(message)
      const source = createEvmSource(chain.network({ rpcUrls }), { report })
      t.teardown(() => source.close())
      return (await source.readRange(0, head)).events
    }
    const lying = async (block: unknown, lies: number): Promise<string> => (await asOf(block, lies)).url
    t.same(await readBy(await lying('latest', 1)), truth, 'a later block, once')
    t.same([...asked.values()], [2, 2], 'the offer’s block and the approval’s')
    t.same(await readBy(await lying('0x0', 1)), truth, 'before there was a contract, once')
    t.same(await readBy(await lying(empty, 1)), truth, 'before there was the loan')
    t.same(await readBy(await lying(before, 1)), truth, 'approved already')
    t.same(
      await readBy(await lying('latest', 1000), chain.url),
      truth,
      'another endpoint, where there is one',
    )
    t.same([...asked.values()], [1, 1], 'which alone is asked again')
    t.same(said, [], 'not worth a word')
    const now = { number: head, hash: (await opened(t, chain).then((source) => source.head())).hash }
    const audited = async (state?: number): Promise<unknown> => {
      const source = await opened(t, chain, { rpcUrls: [await lying(before, 1)] })
      const loan = { role: 'erc20Loans', contractLoanId: '1' } as const
      const [answer] = await source.fetchLoanStates([state === undefined ? loan : { ...loan, state }], now)
      return answer?.loan?.state
    }
    t.equal(await audited(6), 6, 'nor is what the index contradicts believed at once')
    t.equal(await audited(), 1, 'where nothing is known of the loan, it is')
    const cancelled = await readBy(await lying('latest', 1000))
    t.same([...asked.values()], [2, 2], 'not for ever')
    t.match(only(cancelled, 'CreateLoanOffer').terms, {
      values: { interest: null, filLender: hex('t1lender') },
      unknown: { interest: /state 6 already/ },
    })
    t.equal(said.length, 1)
    t.match(
      said[0],
      /2 answers of fetchLoan contradict .* of loan 1 of erc20Loans at block \d+: state 6 instead of state 0$/,
    )
  },
)

const DECIMALS = ABI.token.getFunction('decimals')?.selector ?? 'none'

void t.test(
  'a token that tells no decimals is asked once more, elsewhere if it can be, before that is believed',
  async (t) => {
    const chain = await startLittleChain(t)
    const [six = '', eighteen = '', none = '', absurd = ''] = chain.tokens
    for (const token of [six, eighteen, none, absurd]) {
      await chain.send(chain.accounts[0] ?? '', chain.loans, offer(token))
      await chain.mine()
    }
    const head = Number(await chain.rpc('eth_blockNumber'))

    /** How often each token was asked. */
    const asked = new Map<string, number>()
    /** Answers so, instead of the decimals of the first token, to the first `lies` questions for them. */
    const lying = (lies: number, lie: object = { result: '0x' }): Promise<Proxy> => {
      asked.clear()
      return startProxy(t, chain.url, async (requests, truth) => {
        const answers = await truth()
        return answers.map((answer) => {
          const { method, params } = requests.find(({ id }) => id === answer.id) ?? {}
          const call = params?.[0] as { to: string; data: string } | undefined
          if (method !== 'eth_call' || call?.data !== DECIMALS) return answer
          const times = (asked.get(getAddress(call.to)) ?? 0) + 1
          asked.set(getAddress(call.to), times)
          return getAddress(call.to) === getAddress(six) && times <= lies ? { id: answer.id, ...lie } : answer
        })
      })
    }
    const decimalsBy = async (source: EvmSource): Promise<unknown[]> =>
      (await source.readRange(0, head)).events.map((event) => 'tokenDecimals' in event && event.tokenDecimals)
    const times = (): unknown[] => chain.tokens.map((token) => asked.get(getAddress(token)) ?? 0)
    const truth = [6, 18, null, null]

    const honest = await opened(t, chain, { rpcUrls: [(await lying(0)).url] })
    t.same(await decimalsBy(honest), truth)
    t.same(times(), [1, 1, 2, 1], 'who answers well is asked once')
    t.same(await decimalsBy(honest), truth)
    t.same(times(), [1, 1, 2, 1], 'and so is nobody whose answer stood')

    const reverted = { error: { code: 3, message: 'execution reverted' } }
    for (const lie of [{ result: '0x' }, reverted, { result: null }]) {
      const { url } = await lying(1, lie)
      t.same(await decimalsBy(await opened(t, chain, { rpcUrls: [url] })), truth, JSON.stringify(lie))
      t.same(times(), [2, 1, 2, 1])
    }
    const another = await opened(t, chain, { rpcUrls: [(await lying(1000)).url, chain.url] })
    t.same(await decimalsBy(another), truth, 'another endpoint, where there is one')
    t.equal(asked.get(getAddress(six)), 1, 'which alone is asked again')

    const early = await lying(2)
    const source = await opened(t, chain, { rpcUrls: [early.url] })
    t.same(await decimalsBy(source), [null, 18, null, null], 'what is said twice is taken')
    t.same(await decimalsBy(source), truth, 'and not for good where nothing was said')

    const gone = { code: -32000, message: 'missing trie node 0123 (path )' }
    const unknown = { code: -32000, message: 'header not found' }
    const refusing = (ofBlock: object, latest?: object): Promise<Proxy> =>
      startProxy(t, chain.url, async (requests, truth) => {
        const answers = await truth()
        return answers.map((answer) => {
          const { params } = requests.find(({ id }) => id === answer.id) ?? {}
          if (!JSON.stringify(params).includes(DECIMALS)) return answer
          if (params?.[1] !== 'latest') return { id: answer.id, error: ofBlock as never }
          return latest === undefined ? answer : { id: answer.id, ...latest }
        })
      })
    const pruned = [await refusing(gone, { result: '0x' }), await refusing(gone)]
    const oldest = await opened(t, chain, { rpcUrls: pruned.map(({ url }) => url) })
    t.same(await decimalsBy(oldest), truth, 'also of the newest state')
    for (const second of [
      await refusing(unknown),
      await startProxy(t, chain.url, (requests) =>
        JSON.stringify(requests).includes(DECIMALS) ? { status: 502, body: '' } : null,
      ),
    ]) {
      const alone = await opened(t, chain, { rpcUrls: [(await lying(1)).url, second.url] })
      t.same(await decimalsBy(alone), truth, 'the first one again, where the other cannot tell')
    }
  },
)

async function batcherOf(chain: LittleChain, owner: string, token: string): Promise<string> {
  const batcher = await chain.deploy('LoanBatcher')
  await chain.send(owner, token, ABI.token.encodeFunctionData('mint', [batcher, 10n ** 9n]))
  const approve = ABI.token.encodeFunctionData('approve', [chain.loans, 2n ** 200n])
  await chain.send(owner, batcher, ABI.batcher.encodeFunctionData('batch', [[[token, approve]]]))
  return batcher
}

void t.test('state that is gone: terms from the input, decimals from the newest state', async (t) => {
  const chain = await startLittleChain(t)
  const [lender = ''] = chain.accounts
  const [six = ''] = chain.tokens
  await chain.send(lender, chain.loans, offer(six))
  await chain.mine()
  const pruned = await startProxy(t, chain.url, async (requests, truth) =>
    (await truth()).map((answer) => {
      const { method = '', params = [] } = requests.find(({ id }) => id === answer.id) ?? {}
      if (method !== 'eth_call' || params[1] === 'latest') return answer
      return { id: answer.id, error: { code: -32000, message: 'missing trie node 0123 (path )' } }
    }),
  )
  const source = await opened(t, chain, { rpcUrls: [pruned.url] })
  const [event] = await readAll(t, chain, source)
  t.match(event, {
    kind: 'CreateLoanOffer',
    tokenDecimals: 6,
    terms: { values: { interest: '7', secretHashB1: hashOf(B1) } },
  })
  const both = await opened(t, chain, { rpcUrls: [pruned.url, chain.url] })
  const answer = await both.fetchLoanState('erc20Loans', '1', await both.head())
  t.match(answer, { loan: { interest: '7' } }, 'another endpoint has it')
})

void t.test('a time-out is never an answer: the same question is asked until there is one', async (t) => {
  const chain = await startLittleChain(t)
  await chain.send(chain.accounts[0] ?? '', chain.loans, offer(chain.tokens[0] ?? ''))
  await chain.mine()
  const [offered] = await (
    await opened(t, chain)
  )
    .readRange(0, Number(await chain.rpc('eth_blockNumber')))
    .then(({ events }) => events)
  const failing = (method: string, code: number, message: string): Promise<Proxy> =>
    startProxy(t, chain.url, async (requests, truth) =>
      requests.some((request) => request.method === method)
        ? (await truth()).map(({ id }) => ({ id, error: { code, message } }))
        : null,
    )
  for (const [code, message] of [
    [-32000, 'execution aborted (timeout = 5s)'],
    [-32603, 'internal error'],
  ] as const) {
    const busy = await failing('eth_call', code, message)
    const source = await opened(t, chain, { rpcUrls: [busy.url] })
    const head = await source.head()
    await t.rejects(source.readRange(0, head.number), RetryableError, message)
    await t.rejects(source.fetchLoanState('erc20Loans', '1', head), RetryableError, message)
    busy.fault = () => null
    t.same(
      (await source.readRange(0, head.number)).events,
      [offered],
      'terms and decimals are known after all',
    )
  }

  const pruned = await failing('eth_call', -32000, 'missing trie node 0123 (path )')
  const archive = await failing('eth_call', -32603, 'internal error')
  const both = await opened(t, chain, { rpcUrls: [pruned.url, archive.url] })
  const head = await both.head()
  await t.rejects(both.fetchLoanState('erc20Loans', '1', head), RetryableError, 'the archive may have it')
  archive.fault = () => null
  t.match(await both.fetchLoanState('erc20Loans', '1', head), { loan: { interest: '7' } })
  const late = await failing('eth_call', -32000, 'missing trie node 0123 (path )')
  const source = await opened(t, chain, { rpcUrls: [late.url] })
  const { fault } = late
  late.fault = async (requests, truth, isBatch, upstream) =>
    requests.some(({ params }) => params[1] === 'latest' && requests[0]?.method === 'eth_call')
      ? (await truth()).map(({ id }) => ({ id, error: { code: -32000, message: 'request timed out' } }))
      : fault(requests, truth, isBatch, upstream)
  await t.rejects(source.readRange(0, head.number), RetryableError, 'decimals timed out')
  late.fault = async (requests, truth, isBatch, upstream) =>
    requests.some(({ method }) => method.startsWith('eth_getTransactionBy'))
      ? (await truth()).map(({ id }) => ({ id, result: null }))
      : fault(requests, truth, isBatch, upstream)
  await t.rejects(source.readRange(0, head.number), RetryableError, 'the transaction is not there yet')
})

void t.test(
  'what one endpoint no longer has waits for the one that has it, whatever is with it',
  async (t) => {
    const chain = await startLittleChain(t)
    const [lender = '', borrower = ''] = chain.accounts
    await chain.send(lender, chain.loans, offer(chain.tokens[0] ?? ''))
    await chain.mine()
    const approve = [1n, borrower, hex('t1b'), hashOf(A1), `0x${'ab'.repeat(32)}`, 9n]
    await chain.send(lender, chain.loans, ABI.loans.encodeFunctionData('approveRequest', approve))
    await chain.mine()
    const isOfState = ({ method, params }: Request): boolean =>
      method === 'eth_call' && params[1] !== 'latest'
    const pruned = await startProxy(t, chain.url, async (requests, truth) => {
      if (!requests.some(isOfState)) return null
      return (await truth()).map(({ id }) => ({
        id,
        error: { code: -32000, message: 'missing trie node 0123' },
      }))
    })
    const archive = await startProxy(t, chain.url)
    const open = (...rpcUrls: string[]): EvmSource => {
      const source = createEvmSource(chain.network({ rpcUrls }), { requestTimeoutMs: 500 })
      t.teardown(() => source.close())
      return source
    }
    const rateLimit = { status: 429, body: '' }
    const faults: [what: string, times: number, Reply][] = [
      ['502', 1, { status: 502, body: '' }],
      ['a time-out', 1, 'hang'],
      ['half an answer', 1, { body: '[{"id":' }],
      ['"slow down", more often than a request is tried again', 4, rateLimit],
    ]
    for (const [what, times, fault] of faults) {
      const source = open(pruned.url, archive.url)
      const { number } = await source.head()
      let asked = 0
      archive.fault = (requests) => (requests.some(isOfState) && ++asked <= times ? fault : null)
      const { events } = await source.readRange(0, number)
      t.match(only(events, 'ApproveRequest').terms, { values: { loanExpiration: /^\d+$/ } }, what)
      t.ok(asked > times, `${what}: it was asked again`)
    }
    const beforehand: [what: string, Reply][] = [
      ['put aside before it was asked', { status: 502, body: '' }],
      [
        'not to be asked for longer than a request waits',
        { ...rateLimit, headers: { 'retry-after': '5.1' } },
      ],
    ]
    for (const [what, fault] of beforehand) {
      const source = open(archive.url, pruned.url)
      let isFirst = true
      archive.fault = () => {
        const reply = isFirst ? fault : null
        isFirst = false
        return reply
      }
      const head = await source.head()
      t.notOk(isFirst, `${what}: the archive was asked for the head`)
      t.match(await source.fetchLoanState('erc20Loans', '1', head), { loan: { interest: '7' } }, what)
    }
  },
)

void t.test('nodes that do not know EIP-1898 are asked by height', async (t) => {
  const chain = await startLittleChain(t)
  await chain.send(chain.accounts[0] ?? '', chain.loans, offer(chain.tokens[0] ?? ''))
  await chain.mine()
  const old = await startProxy(t, chain.url, async (requests, truth) =>
    requests.some(({ params }) => typeof params[1] === 'object')
      ? (await truth()).map(({ id }) => ({ id, error: { code: -32602, message: 'invalid argument 1' } }))
      : null,
  )
  const [event] = await readAll(t, chain, await opened(t, chain, { rpcUrls: [old.url] }))
  t.match(event, { tokenDecimals: 6, terms: { values: { interest: '7' } } })
  t.ok(old.faults > 0)
})

void t.test('blocks whose headers were forgotten are read all the same', async (t) => {
  const chain = await startLittleChain(t)
  await chain.mine(100)
  await chain.send(chain.accounts[0] ?? '', chain.loans, offer(chain.tokens[0] ?? ''))
  await chain.mine()
  const made = Number(await chain.rpc('eth_blockNumber'))
  // More than are remembered: what is fetched again for the first ones displaces the ones after them.
  await chain.mine(2048 - 30)
  const source = await opened(t, chain)
  const headers = await source.headers(0, made + 2048 - 30)
  t.ok(headers.length - 2048 < made && made < 2 * (headers.length - 2048), 'the event is among the displaced')
  const { events } = await source.readBlocks(headers)
  t.same(
    events.map(({ kind, blockNumber }) => `${kind} ${blockNumber}`),
    [`CreateLoanOffer ${made}`],
  )
})

void t.test(
  'neighbouring blocks with the same check are one range, though they are read in parts',
  async (t) => {
    const chain = await startLittleChain(t)
    const [lender = ''] = chain.accounts
    for (let made = 0; made < 40; made += 1) {
      await chain.send(lender, chain.loans, offer(chain.tokens[made % 2] ?? ''))
      await chain.mine(made === 20 ? 20 : 1)
    }
    const source = await opened(t, chain)
    const events = await readAll(t, chain, source)
    t.equal(events.length, 40)
    const headers = await source.headers(1, events.at(-1)?.blockNumber ?? 0)
    const { evidence } = await source.readBlocks(headers)
    const first = events[0]?.blockNumber ?? 0
    t.same(
      evidence.filter(({ to }) => to >= first).map(({ check }) => check),
      ['receipts', 'bloom', 'receipts'],
    )
    t.equal(evidence.at(-1)?.to, headers.length)
  },
)

/** Emits whatever it is called with: the first word as the topic, the rest as the data. */
const EMITTER = '0x60203603806020600037600035906000a100'

void t.test('whatever a contract logs, the source goes on', async (t) => {
  const chain = await startLittleChain(t)
  const hostile = `0x${'e1'.repeat(20)}`
  await chain.rpc('anvil_setCode', hostile, EMITTER)
  const [sender = ''] = chain.accounts
  const seize = topicOf('SeizeCollateral(uint256,address,uint256,address)')
  const cancel = topicOf('CancelBorrowRequest(uint256,address,uint256,address,bytes)')
  const coder = AbiCoder.defaultAbiCoder()
  const words = (...values: bigint[]): string =>
    coder
      .encode(
        values.map(() => 'uint256'),
        values,
      )
      .slice(2)
  const valid = coder.encode(
    ['uint256', 'address', 'uint256', 'address'],
    [2n ** 256n - 1n, sender, 2n ** 255n, sender],
  )
  for (const data of [
    topicOf('Unknown()'),
    seize,
    seize + valid.slice(2),
    seize + words(1n, 2n ** 160n, 1n, 1n),
    `${seize + valid.slice(2)}00`,
    cancel + words(1n, 1n, 1n, 1n, 2n ** 255n),
    cancel + words(1n, 1n, 1n, 1n, 160n, 2n ** 64n),
    cancel + words(1n, 1n, 1n, 1n, 160n, 100_000n) + '00'.repeat(100_000),
  ]) {
    await chain.rpc('eth_sendTransaction', { from: sender, to: hostile, data, gas: '0x1000000' })
  }
  await chain.mine()
  // Its check refuses such a contract: it turns hostile after that.
  const source = createEvmSource(
    chain.network({ erc20CollateralLock: { address: hostile, startBlock: 0, idPrefix: null } }),
  )
  t.teardown(() => source.close())
  const events = await readAll(t, chain, source)
  t.same(
    events.map((event) => (event.kind === 'Undecodable' ? event.reason.slice(0, 40) : event.kind)),
    [
      'no event of erc20CollateralLock has topi',
      'SeizeCollateral: data does not decode (B',
      'SeizeCollateral',
      'SeizeCollateral: data does not decode (d',
      'SeizeCollateral: data does not decode (n',
      'CancelBorrowRequest: data does not decod',
      'CancelBorrowRequest: data does not decod',
      'CancelBorrowRequest: data of 100192 byte',
    ],
  )
  const big = events.at(-1)
  t.match(big, { kind: 'Undecodable', dataBytes: 100_192 })
  t.ok(big?.kind === 'Undecodable' && big.dataHead.length === 2 + 512)
  t.match(only(events, 'SeizeCollateral'), {
    contractLoanId: String(2n ** 256n - 1n),
    tokenDecimals: null,
    terms: {
      values: { liquidationPrice: null, secretA1: null },
      unknown: { secretA1: /^fetchLoan answered nothing; / },
    },
  })
})

void t.test('new heads are told by the node, and polled when it stops telling', async (t) => {
  const chain = await startLittleChain(t)
  const source = createEvmSource(chain.network({ wsUrl: chain.wsUrl, pollIntervalMs: 60_000 }))
  t.teardown(() => source.close())
  const stop = new AbortController()
  const ticks = source.headTicks(stop.signal)[Symbol.asyncIterator]()
  await ticks.next()
  const start = Date.now()
  const tick = ticks.next()
  await chain.mine()
  await tick
  t.ok(Date.now() - start < 30_000, `told after ${Date.now() - start} ms`)
  stop.abort()
  t.equal((await ticks.next()).done, true)

  const polling = createEvmSource(chain.network({ wsUrl: 'ws://127.0.0.1:4', pollIntervalMs: 20 }))
  const end = new AbortController()
  const polled = polling.headTicks(end.signal)[Symbol.asyncIterator]()
  for (let count = 0; count < 5; count += 1) await polled.next()
  end.abort()
  t.equal((await polled.next()).done, true)
  await polling.close()
})
