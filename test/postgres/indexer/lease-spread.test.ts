import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { LeaseSpread } from '../../../indexer/lease-spread.ts'
import { getHeldLeases } from '../../../shared/db/leases.ts'
import type { Db } from '../../../shared/db/connect.ts'
import type { Role } from '../../../shared/indexing-health.ts'
import { untilAborted } from '../../../shared/async/abort.ts'
import { testDatabase } from '../../helpers/database.ts'
import { eventually } from '../../helpers/programs.ts'

t.setTimeout(400_000)

const NETWORKS = ['evm:1', 'evm:2', 'evm:3', 'evm:4', 'evm:5', 'evm:6']
const BOTH: readonly Role[] = ['reader', 'writer']

interface Ground {
  db: Db
  url: string
}

/** A process that takes what is its share and does nothing with it. */
function join(
  t: Test,
  { db, url }: Ground,
  name: string,
  { roles = BOTH, networks = NETWORKS }: { roles?: readonly Role[]; networks?: string[] } = {},
) {
  const leaving = new AbortController()
  const { signal } = leaving
  const spread = new LeaseSpread({ db, databaseUrl: url, roles, networks, signal, process: name })
  let handOvers = 0
  const hold = async (role: Role, network: string): Promise<void> => {
    while (!signal.aborted) {
      const lease = await spread.take(role, network, signal, () => undefined)
      if (lease === undefined) return
      await untilAborted(AbortSignal.any([signal, lease.ended]))
      if (lease.isGivenUp) handOvers += 1
      await lease.release()
    }
  }
  const held = roles.flatMap((role) => networks.map((network) => hold(role, network)))
  const running = Promise.all([spread.run(), ...held])
  const leave = async (): Promise<void> => {
    leaving.abort()
    await running
  }
  t.teardown(leave)
  return { spread, leave, handOvers: () => handOvers }
}

/** Leases held by each process: `A: 3 readers, 3 writers`. */
async function loads(db: Db): Promise<string> {
  const leases = (await getHeldLeases(db)).filter(({ candidateFor }) => candidateFor.length === 0)
  const processes = [...new Set(leases.map(({ process }) => process))].sort()
  const count = (process: string, role: Role): number =>
    leases.filter((lease) => lease.process === process && lease.name.startsWith(role)).length
  return processes.map((one) => `${one} ${count(one, 'reader')}+${count(one, 'writer')}`).join(', ')
}

async function until(t: Test, db: Db, wanted: string, what: string): Promise<void> {
  for (let waited = 0; waited < 100_000 && (await loads(db)) !== wanted; waited += 50) await sleep(50)
  t.equal(await loads(db), wanted, what)
}

void t.test('processes join and leave: each time the networks are spread evenly', async (t) => {
  const ground = await testDatabase(t)
  const { db } = ground
  const first = join(t, ground, 'A')
  await until(t, db, 'A 6+6', 'the only one has all')
  const second = join(t, ground, 'B')
  await until(t, db, 'A 3+3, B 3+3', 'the second one has half')
  t.equal(first.handOvers(), 6, 'no more was given up than had to be')
  const leases = await getHeldLeases(db)
  const ofB = (role: Role): string[] =>
    leases
      .filter(({ process, name }) => process === 'B' && name.startsWith(role))
      .map(({ name }) => name.slice(10))
      .sort()
  t.same(ofB('reader'), ofB('writer'), 'the reader and the writer of a network are one process')
  const third = join(t, ground, 'C', { roles: ['writer'] })
  await until(t, db, 'A 3+2, B 3+2, C 0+2', 'a writer takes a third of the writing')
  await first.leave()
  await until(t, db, 'B 6+3, C 0+3', 'those that are left have all')
  await Promise.all([second.leave(), third.leave()])
  t.equal(await loads(db), '', 'all is free')
  t.equal(second.handOvers() <= 2, true, `${second.handOvers()}`)
})

void t.test('a process that can take a network no more leaves it to the others', async (t) => {
  const ground = await testDatabase(t)
  const { db } = ground
  const networks = NETWORKS.slice(0, 2)
  const { spread } = join(t, ground, 'A', { networks })
  join(t, ground, 'B', { networks })
  await until(t, db, 'A 1+1, B 1+1', 'one each')
  const held = (await getHeldLeases(db)).find(
    ({ process, name }) => process === 'A' && name.startsWith('reader of'),
  )
  const network = held?.name.slice('reader of '.length) ?? ''
  spread.withdraw(network)
  // Its lease ends with the failure of the network.
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
    and application_name in (${`loan-activity lease reader of ${network}`}, ${`loan-activity lease writer of ${network}`})`.execute(
    db,
  )
  await eventually('the other process has its two roles', async () => {
    const leases = (await getHeldLeases(db)).filter(({ name }) => name.endsWith(` of ${network}`))
    return leases.length === 2 && leases.every(({ process }) => process === 'B')
  })
  await until(t, db, 'A 1+1, B 1+1', 'and leaves the other network to the first')
})

void t.test('a share that its process does not take is taken by another after a while', async (t) => {
  const ground = await testDatabase(t)
  const { db, url } = ground
  const leaving = new AbortController()
  // It is there, and takes nothing: as one that is frozen, or has no connection left.
  const frozen = new LeaseSpread({
    ...{ db, databaseUrl: url, roles: BOTH, networks: NETWORKS, process: 'frozen', signal: leaving.signal },
  })
  const running = frozen.run()
  t.teardown(async () => {
    leaving.abort()
    await running
  })
  // Else the first takes all as its share, before it shares with the frozen one.
  while (!(await getHeldLeases(db)).some(({ process }) => process === 'frozen')) await sleep(20)
  const first = join(t, ground, 'A')
  await until(t, db, 'A 6+6', 'all networks are indexed')
  for (let looks = 0; looks < 30; looks += 1) {
    t.equal(await loads(db), 'A 6+6')
    await sleep(50)
  }
  t.equal(first.handOvers(), 0, 'and it gives none of them up again')
})
