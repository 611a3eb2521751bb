import { Command, InvalidArgumentError, Option } from 'commander'
import { attack, type Attack } from './api-attack.ts'
import { benchLoad, type LoadOptions } from './api-load.ts'
import { benchReads, serveReads, type ReadsOptions } from './api-reads.ts'
import { benchMemory, type MemoryOptions } from './backfill-memory.ts'
import { useHugePages } from './bench-postgres.ts'
import { benchBackfill } from './evm-backfill.ts'
import { fuzzDecoder } from './fuzz-decoder.ts'
import { benchLotus, type LotusOptions } from './lotus-backfill.ts'
import { benchLive, type LiveOptions } from './live.ts'
import { benchMetricsCost, type MetricsCostOptions } from './metrics-cost.ts'
import { benchNetworks, benchRoles, type NetworksOptions } from './networks.ts'
import { benchPonder, type PonderOptions } from './ponder.ts'
import { benchRecovery, type RecoveryOptions } from './recovery.ts'
import { benchReorg, type ReorgOptions } from './reorg.ts'
import { benchReplicas, type ReplicasOptions } from './replicas.ts'
import { benchReplay, type ReplayOptions } from './replay.ts'
import type { QueueKind } from './services.ts'
import { benchSize, type SizeOptions } from './size.ts'
import type { NodeSpec } from './synthetic-evm/serve-chain.ts'
import type { ShapeName } from './synthetic-evm/synthetic-chain.ts'
import { runSyntheticLotus } from './synthetic-lotus/lotus-node.ts'
import type { LotusShape } from './synthetic-lotus/tipsets.ts'
import { runSyntheticNode } from './synthetic-evm/synthetic-node.ts'
import { benchStream, type StreamOptions } from './stream.ts'
import { benchTakeover, type TakeoverOptions } from './takeover.ts'

const count = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('a count is a whole number from 1')
  return Number(text)
}

const shapeOption = (): Option =>
  new Option('--shape <name>', 'many events in few blocks, or few in many')
    .choices(['dense', 'sparse'])
    .default('dense')
const endpointsOption = (): Option =>
  new Option('--endpoints <n>', 'names of the node, among which requests are spread')
    .argParser(count)
    .default(1)
const queueOption = (): Option =>
  new Option('--queue <backend>').choices(['redis', 'postgres']).default('postgres')

const program = new Command('bench').description(
  'Measurements against real services. Figures wander with the machine: compare within one run.',
)
program
  .command('memory')
  .description('memory of the indexer while it reads chains of several shapes from the start (builds first)')
  .addOption(queueOption())
  .option('--runs <n>', 'measured runs on each chain', count, 3)
  .option('--events <n>', 'events on each chain', count, 60_000)
  .option('--json', 'the figures as JSON', false)
  .action((options: MemoryOptions) => benchMemory(options))
program
  .command('replay')
  .description(
    'the read model built again from the log that a backfill wrote, against that backfill (builds first)',
  )
  .addOption(shapeOption())
  .addOption(queueOption())
  .option('--runs <n>', 'measured backfills, each with its replay, after one that is not', count, 3)
  .option('--events <n>', 'as many events as this, at the same density', count)
  .option('--json', 'the figures as JSON', false)
  .action((options: ReplayOptions) => benchReplay(options))
program
  .command('lotus')
  .description(
    'tipsets per second of the indexer against a synthetic Lotus node, and of its requests alone (builds first)',
  )
  .addOption(queueOption())
  .option('--tipsets <n>', 'tipsets to read; a twentieth of it where each has 300 messages', count, 40_000)
  .option('--runs <n>', 'measured runs, after one that is not', count, 3)
  .option('--json', 'the figures as JSON', false)
  .action((options: LotusOptions) => benchLotus(options))
program
  .command('takeover')
  .description('until a standby writes after the leader was killed, and was frozen')
  .addOption(queueOption())
  .option('--runs <n>', 'measured runs of each kind, in turns, after one that is not', count, 10)
  .option('--json', 'the figures as JSON', false)
  .action((options: TakeoverOptions) => benchTakeover(options))
program
  .command('api')
  .description(
    'requests per second of pages and lookups, against what Fastify and Postgres can do (needs wrk)',
  )
  .option('--records <n>', 'records in the history', count, 1_000_000)
  .option('--seconds <n>', 'of each measurement', count, 5)
  .option('--runs <n>', 'runs of all measurements in turns', count, 3)
  .option('--warm-up-seconds <n>', 'of asking for any page, before them', count, 90)
  .option('--json', 'the figures as JSON', false)
  .action((options: ReadsOptions) => benchReads(options))
program
  .command('serve-reads <databaseUrl>', { hidden: true })
  .action((databaseUrl: string) => serveReads(databaseUrl))
program
  .command('load')
  .description(
    'what a client of the API notices of others who pipeline, hold on or ask too much (builds first)',
  )
  .option('--records <n>', 'records in the history', count, 20_000)
  .option('--seconds <n>', 'of each case', count, 10)
  .option('--only <text>', 'only the cases with this in their name', '')
  .option('--json', 'the figures as JSON', false)
  .action((options: LoadOptions) => benchLoad(options))
program
  .command('metrics')
  .description('what a scrape every second costs the API and a backfill (builds first)')
  .option('--records <n>', 'records in the history', count, 100_000)
  .option('--seconds <n>', 'of each measurement of the API', count, 5)
  .option('--events <n>', 'events of each backfill', count, 40_000)
  .option('--runs <n>', 'measured runs without and with, in turns, after one that is not', count, 3)
  .option('--json', 'the figures as JSON', false)
  .action((options: MetricsCostOptions) => benchMetricsCost(options))
program
  .command('replicas')
  .description(
    'requests per second of pages from one replica of Postgres and from several (builds first; needs haproxy)',
  )
  .option('--records <n>', 'records in the history', count, 1_000_000)
  .option('--seconds <n>', 'of each measurement', count, 5)
  .option('--replicas <n>', 'as many at most', count, 3)
  .option('--share <n>', 'of one core, at most, for each replica (as root); 0 sets no limit', Number, 0)
  .option('--runs <n>', 'measured runs of each number, in turns, after one that is not', count, 3)
  .option('--json', 'the figures as JSON', false)
  .action((options: ReplicasOptions) => benchReplicas(options))
program
  .command('stream')
  .description(
    'memory of the API with open streams, and the time from a commit until its events are there (builds first)',
  )
  .option('--streams <n>', 'open at once', count, 1000)
  .option('--steps <n>', 'written meanwhile', count, 200)
  .option('--json', 'the figures as JSON', false)
  .action((options: StreamOptions) => benchStream(options))
program
  .command('attack <plan>', { hidden: true })
  .action((plan: string) => attack(JSON.parse(plan) as Attack))
program
  .command('synthetic-lotus <shape>', { hidden: true })
  .action((shape: string) => runSyntheticLotus(JSON.parse(shape) as LotusShape))
program
  .command('backfill')
  .description(
    'events per second of the indexer against a synthetic EVM node, and of the limits (builds first)',
  )
  .addOption(shapeOption())
  .addOption(queueOption())
  .option('--runs <n>', 'measured runs, after one that is not', count, 3)
  .option('--events <n>', 'as many events as this, at the same density', count)
  .addOption(endpointsOption())
  .option('--json', 'the figures as JSON', false)
  .option('--statements', 'of each run, what share of the database’s time which statement took', false)
  .option('--profile <folder>', 'where the indexer leaves a profile of its processor time')
  .action(
    (options: {
      shape: ShapeName
      queue: QueueKind
      runs: number
      events?: number
      endpoints: number
      json: boolean
      statements: boolean
      profile?: string
    }) => benchBackfill({ ...options, events: options.events, profile: options.profile }),
  )
program
  .command('networks')
  .description('events per second of several networks at once in one database (builds first)')
  .addOption(queueOption())
  .option('--networks <n>', 'as many at most', count, 4)
  .option('--events <n>', 'events of each', count, 40_000)
  .option('--runs <n>', 'measured runs of each kind, in turns, after one that is not', count, 3)
  .option('--json', 'the figures as JSON', false)
  .action((options: NetworksOptions) => benchNetworks(options))
program
  .command('roles')
  .description(
    'events per second of one process, and of a reader and a writer in two, with one network and with several (builds first)',
  )
  .addOption(queueOption().default('redis'))
  .option('--networks <n>', 'as many at most', count, 3)
  .option('--events <n>', 'events of each', count, 40_000)
  .option('--runs <n>', 'measured runs of each kind, in turns, after one that is not', count, 3)
  .option('--json', 'the figures as JSON', false)
  .action((options: NetworksOptions) => benchRoles(options))
program
  .command('ponder')
  .description(
    'what Ponder makes of the same chain on the same database (`npm i --prefix bench/peers/ponder` first)',
  )
  .addOption(shapeOption())
  .option('--runs <n>', 'measured runs, after one that is not', count, 3)
  .option('--events <n>', 'as many events as this, at the same density', count)
  .addOption(endpointsOption())
  .addOption(
    new Option('--keeps <what>', 'the history alone, or the loans and their terms too, as the service does')
      .choices(['records', 'loans'])
      .default('loans'),
  )
  .option('--json', 'the figures as JSON', false)
  .action((options: PonderOptions) => benchPonder(options))
program
  .command('size')
  .description('what an index of many records takes, and what reading and writing cost on it')
  .option('--records <n>', 'records that are there', count, 10_000_000)
  .option('--no-log', 'the read model alone: the log of 100 million wants 150 GB')
  .option(
    '--loan-events <n>',
    'from 2: events to a loan’s id, which both markets have; a loan takes 2 kB',
    (text) => {
      if (count(text) < 2) throw new InvalidArgumentError('two markets have a loan of each id: from 2')
      return count(text)
    },
    5,
  )
  .option('--clients <n>', 'clients that ask at once', count, 8)
  .option('--runs <n>', 'measured runs on nothing, and on all that, each after one that is not', count, 3)
  .option('--json', 'the figures as JSON', false)
  .option(
    '--statements',
    'of each run, what share of the database’s time which statement of the writer took',
    false,
  )
  .action((options: SizeOptions) => benchSize(options))
program
  .command('live')
  .description('from a new block until its records are in an answer of the API (builds first)')
  .addOption(queueOption())
  .option('--runs <n>', 'runs of each kind, in turns', count, 3)
  .option('--blocks <n>', 'measured blocks of each run, after 20 that are not', count, 200)
  .option('--poll-ms <n>', 'pollIntervalMs of the indexer that is told nothing', count, 50)
  .option('--json', 'the figures as JSON', false)
  .action((options: LiveOptions) => benchLive(options))
program
  .command('reorg')
  .description(
    'from a reorganization of 64 blocks with 1,000 records until an answer of the API shows it (builds first)',
  )
  .addOption(queueOption())
  .option('--runs <n>', 'measured runs, after one that is not', count, 3)
  .option('--json', 'the figures as JSON', false)
  .action((options: ReorgOptions) => benchReorg(options))
program
  .command('recovery')
  .description('until an indexer that was killed in mid-backfill and started again writes (builds first)')
  .addOption(queueOption())
  .option('--runs <n>', 'measured runs, after one that is not', count, 3)
  .option('--events <n>', 'events on the chain', count, 100_000)
  .option('--seed <n>', 'of the places where it is killed', count, 1 + (Date.now() % 1_000_000))
  .option('--json', 'the figures as JSON', false)
  .action((options: RecoveryOptions) => benchRecovery(options))
program
  .command('fuzz-decoder')
  .description('compares the decoder of the contracts’ data with ethers’ own')
  .option('--cases <n>', 'random and hostile logs', count, 1_000_000)
  .option('--seed <n>', 'for the same logs again', count, 1)
  .action((options: { cases: number; seed: number }) => fuzzDecoder(options.cases, options.seed))
program
  .command('synthetic-evm <spec>', { hidden: true })
  .action((spec: string) => runSyntheticNode(JSON.parse(spec) as NodeSpec))
const WITHOUT_POSTGRES = ['fuzz-decoder', 'serve-reads', 'synthetic-evm', 'synthetic-lotus']
for (const command of program.commands.filter((each) => !WITHOUT_POSTGRES.includes(each.name()))) {
  command.option('--huge-pages', 'sets them aside for Postgres, as root, for as long as it runs', false)
}
program.hook('preAction', (_, command) => {
  if (command.opts<{ hugePages?: boolean }>().hugePages === true) useHugePages()
})
// Started programs end with this process or through its exit handlers.
for (const stop of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(stop, () => process.exit(130))
await program.parseAsync()
