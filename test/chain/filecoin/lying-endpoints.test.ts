import t from 'tap'
import { createRandom } from '../../../devnet/evm/random.ts'
import { chanceFrom, type Chance, type FaultKind } from '../../../devnet/faults/fault.ts'
import { everyFault, lotusFaults, survivable } from '../../../devnet/faults/weather.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { startProxy, type Proxy } from '../sources/faulty-proxy.ts'
import { StepIndex } from '../sources/step-index.ts'
import { catchUp, networkOf, sameAsChain } from './catch-up.ts'
import { startBusyChain } from './traffic.ts'

const seed = String(testSeed(t))
t.setTimeout(400_000)

/** Every fault happens at least once, once the source has begun to read. */
function chanceOf(name: string, proxy: Proxy): Chance {
  const { now, below } = chanceFrom(createRandom(`${seed}/${name}`))
  const isDue = (): boolean => proxy.faults === 0 && proxy.requests > 4
  return { now: (probability) => now(probability) || isDue(), below }
}

/** Nothing in the reading of a chain that stands still gives these an occasion. */
const NO_OCCASION = [
  'a head behind what is final',
  'half a batch',
  'no certificates of finality',
  ...['a certificate with too little power', 'a power table that was swapped'],
]

void t.test('whatever the only endpoint does, the index is the chain', { timeout: 390_000 }, async (t) => {
  const lotus = await startBusyChain(t, seed, { epochs: 45, messages: 3, nullRoundChance: 0.2 })
  const suffer = async (name: string, { make, isSlow = false }: FaultKind): Promise<void> => {
    const proxy = await startProxy(t, lotus.url)
    proxy.fault = make(chanceOf(name, proxy))
    const index = new StepIndex()
    const start = Date.now()
    await catchUp(lotus, index, {
      network: networkOf(proxy),
      ...(isSlow ? { requestTimeoutMs: 1000 } : {}),
    })
    sameAsChain(t, index, lotus, name)
    t.comment(`${name}: ${proxy.faults} of ${proxy.requests} requests, ${Date.now() - start} ms`)
    if (!NO_OCCASION.includes(name)) t.ok(proxy.faults > 0, `${name}: it happened`)
  }
  const all: FaultKind = {
    make: everyFault(survivable(lotusFaults, { witness: false, slow: false })),
    seenBy: 'visible',
  }
  const faults = Object.entries({
    ...survivable(lotusFaults, { witness: false, slow: true }),
    'all of it': all,
  })
  while (faults.length > 0) await Promise.all(faults.splice(0, 9).map(([name, kind]) => suffer(name, kind)))
})
