import t from 'tap'
import { startAnvil } from '../../../devnet/evm/anvil.ts'
import { deployContracts } from '../../../devnet/evm/deploy.ts'
import { createPlayer } from '../../../devnet/evm/player.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { functionLayout } from '../../../indexer/sources/evm/contracts.ts'
import { STATE_AFTER } from '../../../indexer/sources/evm/loan-states.ts'
import type { EvmNetwork } from '../../../shared/config/networks.ts'
import type { ChainEvent, EvmLoanEvent } from '../../../shared/events/chain-event.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { startProxy } from './faulty-proxy.ts'

const seed = testSeed(t)
t.setTimeout(120_000)

const SELECTORS = (['erc20Loans', 'erc20CollateralLock'] as const).map(
  (role) => functionLayout(role, 'fetchLoan').selector,
)

/** The last event of each loan in each block. */
function lastOfBlocks(events: readonly ChainEvent[]): EvmLoanEvent[] {
  const last = new Map<string, EvmLoanEvent>()
  for (const event of events)
    if ('role' in event && 'contractLoanId' in event)
      last.set(`${event.role}/${event.contractLoanId}/${event.blockHash}`, event)
  return [...last.values()]
}

void t.test(
  'each event leaves its loan in the state that the contract shows, and is believed at once',
  async (t) => {
    const anvil = await startAnvil({ port: 0, historyBlocks: 10_000 })
    t.teardown(() => anvil.stop())
    const deployment = await deployContracts(anvil.url)
    await createPlayer({ rpcUrl: anvil.url, deployment, seed }).playLoans(120)
    const asked = new Map<string, number>()
    const counting = await startProxy(t, anvil.url, (requests) => {
      for (const { params } of requests) {
        const question = JSON.stringify(params)
        if (SELECTORS.some((selector) => question.includes(selector)))
          asked.set(question, (asked.get(question) ?? 0) + 1)
      }
      return null
    })
    const contract = (address: string): EvmNetwork['erc20Loans'] => ({
      address,
      startBlock: 0,
      idPrefix: null,
    })
    const source = createEvmSource({
      blockchain: 'TEST',
      networkId: '31337',
      rpcUrls: [counting.url],
      wsUrl: null,
      confirmations: 0,
      maxBlockRange: 2000,
      pollIntervalMs: 20,
      erc20Loans: contract(deployment.erc20Loans),
      erc20CollateralLock: contract(deployment.erc20CollateralLock),
    })
    t.teardown(() => source.close())
    await source.check()
    const { number } = await source.head()
    const { events } = await source.readRange(0, number)
    t.ok(asked.size > 100, `${asked.size} loans at the ends of blocks were asked for`)
    t.same(
      [...asked.values()].filter((times) => times !== 1),
      [],
      'each once: an honest node is not doubted',
    )

    const kinds = new Set<string>()
    for (const { role, contractLoanId, kind, blockNumber, blockHash } of lastOfBlocks(events)) {
      kinds.add(kind)
      const answer = await source.fetchLoanState(role, contractLoanId, {
        number: blockNumber,
        hash: blockHash,
      })
      const state = answer.loan?.state
      if (state !== STATE_AFTER[kind]) t.equal(state, STATE_AFTER[kind], `${kind} of loan ${contractLoanId}`)
    }
    const expected = Object.keys(STATE_AFTER).filter((kind) => kind !== 'SeizeCollateral')
    t.same([...kinds].sort(), expected.sort(), 'a seizure ends with the borrower’s share')
  },
)
