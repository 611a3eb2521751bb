import fc from 'fast-check'
import t from 'tap'
import { shareNetworks, type Spread } from '../../../indexer/spread.evolve.ts'

/** `A1,2` has the networks 1 and 2; a `!` after the name: it is no live process. */
function spread(networks: string, ...processes: string[]): Spread {
  const all = networks.split('')
  const parts = processes.map((text) => ({
    id: text.charAt(0),
    isGone: text.includes('!'),
    held: text.replace(/^.!?/, ''),
  }))
  return {
    processes: new Map(parts.filter(({ isGone }) => !isGone).map(({ id }) => [id, new Set(all)])),
    holders: new Map(parts.flatMap(({ id, held }) => held.split('').map((network) => [network, id]))),
  }
}

function told(shares: Map<string, string>): string {
  const ids = [...new Set(shares.values())].sort()
  const held = (id: string): string =>
    [...shares]
      .filter(([, own]) => own === id)
      .map(([network]) => network)
      .sort()
      .join('')
  return ids.map((id) => id + held(id)).join(' ')
}

const cases: [what: string, before: Spread, after: string][] = [
  ['nobody is there', spread('123'), ''],
  ['one takes all', spread('123', 'A'), 'A123'],
  ['two start together', spread('1234', 'A', 'B'), 'A13 B24'],
  ['what is held stays', spread('1234', 'A12', 'B34'), 'A12 B34'],
  ['one more of an odd number stays where it is', spread('123', 'A1', 'B23'), 'A1 B23'],
  ['a second one joins', spread('1234', 'A1234', 'B'), 'A34 B12'],
  ['a second one joins an only network', spread('1', 'A1', 'B'), 'A1'],
  ['a third one joins', spread('123456', 'A123', 'B456', 'C'), 'A23 B56 C14'],
  ['one left: its networks are free', spread('1234', 'A12'), 'A1234'],
  ['one of three left', spread('123456', 'A12', 'B34'), 'A125 B346'],
  ['one that is gone still has its leases', spread('1234', 'A12', 'B!34'), 'A12 B34'],
  ['more processes than networks', spread('12', 'A12', 'B', 'C'), 'A2 B1'],
]
for (const [what, before, after] of cases) {
  void t.test(what, (t) => {
    t.equal(told(shareNetworks(before)), after)
    t.end()
  })
}

void t.test('a network goes to a process that can take it', (t) => {
  const processes = new Map([
    ['A', new Set(['1', '2', '3', '4'])],
    ['B', new Set(['4'])],
  ])
  t.equal(told(shareNetworks({ processes, holders: new Map() })), 'A123 B4')
  const holders = new Map([['1', 'A'], ['2', 'A'], ['3', 'A'], ['4', 'A']]) // prettier-ignore
  t.equal(told(shareNetworks({ processes, holders })), 'A123 B4')
  t.end()
})

void t.test('both roles of a network go to one process where the loads allow it', (t) => {
  const before = spread('1234', 'A1234', 'B')
  const readers = shareNetworks(before)
  t.equal(told(shareNetworks(before, readers)), told(readers))
  const paired = new Map([['3', 'B'], ['4', 'B']]) // prettier-ignore
  t.equal(told(shareNetworks(before, paired)), 'A12 B34', 'the one that it reads moves to it')
  t.equal(told(shareNetworks(spread('12', 'A', 'B'), new Map([['1', 'B']]))), 'A2 B1')
  t.equal(
    told(shareNetworks(spread('1234', 'A12', 'B34'), new Map([['1', 'B']]))),
    'A12 B34',
    'it moves for no other reason',
  )
  t.end()
})

/** Any processes that can take all networks, and any holders, some of whom are gone. */
const spreads = fc
  .record({ networks: fc.integer({ min: 0, max: 12 }), processes: fc.integer({ min: 1, max: 6 }) })
  .chain(({ networks, processes }) => {
    const names = Array.from({ length: networks }, (_, index) => `n${index}`)
    const ids = Array.from({ length: processes }, (_, index) => `p${index}`)
    const holder = fc.option(fc.constantFrom(...ids), { nil: undefined })
    const pairs = fc.array(holder, { minLength: networks, maxLength: networks })
    return fc.record({ names: fc.constant(names), ids: fc.constant(ids), held: pairs, paired: pairs })
  })
  .map(({ names, ids, held, paired }) => {
    const toMap = (list: (string | undefined)[]): Map<string, string> =>
      new Map(list.flatMap((id, index) => (id === undefined ? [] : [[names[index] ?? '', id] as const])))
    const processes = new Map(ids.map((id) => [id, new Set(names)]))
    return { names, ids, paired: toMap(paired), spread: { processes, holders: toMap(held) } }
  })

function loadsOf(ids: readonly string[], shares: ReadonlyMap<string, string>): number[] {
  return ids.map((id) => [...shares.values()].filter((own) => own === id).length)
}

void t.test('every network has a process, and loads differ by one at most', (t) => {
  fc.assert(
    fc.property(spreads, ({ names, ids, paired, spread }) => {
      const shares = shareNetworks(spread, paired)
      const loads = loadsOf(ids, shares)
      return shares.size === names.length && Math.max(...loads) - Math.min(...loads) <= 1
    }),
  )
  t.end()
})

void t.test('given its own result it moves nothing', (t) => {
  fc.assert(
    fc.property(spreads, ({ paired, spread }) => {
      const shares = shareNetworks(spread, paired)
      t.same(shareNetworks({ ...spread, holders: shares }, paired), shares)
    }),
  )
  t.end()
})

void t.test('no fewer networks can move', (t) => {
  fc.assert(
    fc.property(spreads, ({ names, ids, paired, spread }) => {
      const shares = shareNetworks(spread, paired)
      const moved = [...spread.holders].filter(([network, id]) => shares.get(network) !== id).length
      // Those that have most may keep one more than the others, as many as there is a remainder.
      const most = Math.ceil(names.length / ids.length)
      const withMost = names.length % ids.length || ids.length
      const least = loadsOf(ids, spread.holders)
        .sort((a, b) => b - a)
        .reduce((sum, load, rank) => sum + Math.max(0, load - (rank < withMost ? most : most - 1)), 0)
      t.equal(moved, least)
    }),
  )
  t.end()
})

void t.test('moved one by one, in any order, it ends after as many moves as it has', (t) => {
  fc.assert(
    fc.property(spreads, fc.infiniteStream(fc.nat()), ({ names, spread }, picks) => {
      let holders = new Map(spread.holders)
      for (let step = 0; step <= 2 * names.length; step += 1) {
        const shares = shareNetworks({ ...spread, holders })
        const moves = [...shares].filter(([network, id]) => holders.get(network) !== id)
        if (moves.length === 0) return true
        const [network = '', id = ''] = moves[Number(picks.next().value) % moves.length] ?? []
        // Given up first, and taken by whoever then should have it.
        holders = new Map([...holders].filter(([own]) => own !== network))
        holders.set(network, shareNetworks({ ...spread, holders }).get(network) ?? id)
      }
      return false
    }),
  )
  t.end()
})
