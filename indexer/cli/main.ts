import { Argument, Command, CommanderError, Option } from 'commander'
import { ConfigError } from '../../shared/errors.ts'
import { describeFailure } from '../../shared/program.ts'
import { runAudit } from './audit.ts'
import {
  runDropDeadLetters,
  runListDeadLetters,
  runRetryDeadLetters,
  runShowDeadLetter,
  type Chosen,
} from './dead-letters.ts'
import { runDigest } from './digest.ts'
import { runDoctor } from './doctor.ts'
import { EXPORT_FORMATS, EXPORTED, runExport } from './export.ts'
import { runImportVouchers } from './import-vouchers.ts'
import { runMigrate } from './migrate.ts'
import { runReindex, runVerify } from './reindex.ts'
import { runReplay } from './replay.ts'
import { runRoles } from './roles.ts'
import { runStatus } from './status.ts'

const wrongUse = (message: string): ConfigError => new ConfigError(`${message} (--help tells more)`)

const block = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw wrongUse(`a block is a whole number from 0, not "${text}"`)
  return Number(text)
}

const whole = (text: string): number => {
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw wrongUse(`an id or a limit is a whole number from 1, not "${text}"`)
  return Number(text)
}

/** Collects `3 5 8`, or `all` alone. */
const chosen = (text: string, before: Chosen | undefined): Chosen => {
  if (text === 'all' && before === undefined) return 'all'
  if (before === 'all') throw wrongUse('`all` stands alone')
  return [...(before ?? []), whole(text)]
}

const program = new Command('ops')
  .description(
    'Operators’ commands of the loan activity service. Exit codes: 0 done and well, 1 failed, interrupted or something differs, 2 wrong use or configuration.',
  )
  .exitOverride()
  // Commander's own words are left out: describeUse says the same in ours.
  .configureOutput({ outputError: () => undefined })

program
  .command('migrate')
  .description('bring the database’s schema up to this version')
  .option('--json', 'as JSON')
  .action(runMigrate)
program
  .command('roles')
  .description(
    'grant each program a database role of its own what it needs and nothing else; run it as the owner, after `migrate`. INDEXER_PASSWORD, API_PASSWORD, PRODUCER_PASSWORD and INTAKE_PASSWORD, where set, create the role or change its password',
  )
  .option('--indexer <role>', 'the role of the indexer', 'loan_activity_indexer')
  .option('--api <role>', 'the role of the API, which only reads', 'loan_activity_api')
  .option('--producer <role>', 'a role that hands in vouchers through the queue on Postgres (default: none)')
  .option('--intake <role>', 'a role of the intake (default: none)')
  .option(
    '--check',
    'only compare the roles’ privileges on tables with what they need; 1 when anything differs',
  )
  .option('--json', 'as JSON')
  .action(runRoles)
program
  .command('status')
  .description(
    'what the database knows of every network; 1 when one that is configured is not followed or not fresh',
  )
  .option('--json', 'as JSON')
  .action(runStatus)
program
  .command('doctor')
  .description(
    'look at configuration, databases, queue and endpoints, with a verdict for each; 1 when anything failed',
  )
  .option('--json', 'as JSON')
  .action(runDoctor)
program
  .command('replay')
  .description('build the read model again from the log; readers are served throughout')
  .option('--restart', 'begin anew instead of going on with an interrupted replay')
  .option('--diff', 'only print what it would change, by record, loan and channel; 1 when anything')
  .option('--json', 'as JSON')
  .action(runReplay)
program
  .command('reindex')
  .description('read a network again and append what differs; other records keep their ids')
  .requiredOption('--network <key>', 'the network, such as evm:31337')
  .option('--from <block>', 'first block (default: the network’s start)', block)
  .option('--to <block>', 'last block (default: where the index stands)', block)
  .option('--restart', 'begin anew instead of going on with an interrupted run')
  .option('--json', 'as JSON')
  .action(runReindex)
program
  .command('verify')
  .description('read a range of blocks again and compare it with the log; 1 when anything differs')
  .requiredOption('--network <key>', 'the network, such as evm:31337')
  .option('--from <block>', 'first block (default: the network’s start)', block)
  .option('--to <block>', 'last block (default: where the index stands)', block)
  .option('--json', 'as JSON')
  .action(runVerify)
program
  .command('audit')
  .description(
    'compare every loan with its contract and every channel with the node at the indexed block; 1 when anything differs or a network was never indexed',
  )
  .option('--network <key>', 'one network (default: all)')
  .option('--proof', 'read loans from contract storage, proven against the block’s header, and count them')
  .option('--json', 'as JSON')
  .action(runAudit)
program
  .command('digest')
  .description('a digest over the whole read model')
  .option('--json', 'as JSON')
  .action(runDigest)

program
  .command('export')
  .description('write all records, or all loans, to standard output, from one snapshot of the database')
  .addArgument(new Argument('<what>', 'what to write').choices(EXPORTED))
  .addOption(new Option('--format <format>', 'the form of a line').choices(EXPORT_FORMATS).default('ndjson'))
  .action(runExport)

const vouchers = program.command('vouchers').description('what is signed off-chain')
vouchers
  .command('import')
  .description(
    'write the vouchers (base64) and signed statements (JSON) of a file, one per line; 1 when any is refused',
  )
  .argument('<file>', 'the file, or - for standard input')
  .option('--network <id>', 'the Filecoin network of lines that name none (default: the only one)')
  .option('--json', 'as JSON')
  .action(runImportVouchers)

const deadLetters = program
  .command('dead-letters')
  .description('what was refused, with the reason: the newest 10,000 are kept')
deadLetters
  .command('list')
  .description('the newest first')
  .option('--queue <name>', 'of one queue, such as vouchers')
  .option('--limit <number>', 'how many', whole, 50)
  .option('--json', 'as JSON')
  .action(runListDeadLetters)
deadLetters
  .command('show')
  .description('one of them, with what was refused')
  .argument('<id>', 'its id', whole)
  .option('--json', 'as JSON')
  .action(runShowDeadLetter)
deadLetters
  .command('retry')
  .description('hand vouchers in again, each gone once accepted; messages go back to their webhook')
  .argument('<ids...>', 'ids, or all', chosen)
  .option('--json', 'as JSON')
  .action(runRetryDeadLetters)
deadLetters
  .command('drop')
  .description('forget them')
  .argument('<ids...>', 'ids, or all', chosen)
  .option('--json', 'as JSON')
  .action(runDropDeadLetters)

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2
    const message = describeUse(error)
    if (message !== null) console.error(`ops: ${wrongUse(message).message}`)
  } else {
    console.error(`ops: ${describeFailure(error)}`)
    process.exitCode = error instanceof ConfigError ? 2 : 1
  }
}

/** A mistake in the arguments; null where commander has printed the help. Its message quotes the name first. */
function describeUse({ code, message }: CommanderError): string | null {
  const [, name = ''] = /'([^']*)'/.exec(message) ?? []
  const [, similar] = /\(Did you mean (.*)\?\)$/.exec(message) ?? []
  const hint = similar === undefined ? '' : `: do you mean ${similar}?`
  switch (code) {
    case 'commander.help':
    case 'commander.helpDisplayed':
      return null
    case 'commander.unknownCommand':
      return `there is no command ${name}${hint}`
    case 'commander.unknownOption':
      return `there is no option ${name}${hint}`
    case 'commander.missingArgument':
      return `the argument <${name}> is missing`
    case 'commander.missingMandatoryOptionValue':
      return `${name} is missing`
    case 'commander.optionMissingArgument':
      return `${name} lacks its value`
    case 'commander.invalidArgument':
      return (/Allowed choices are .*$/.exec(message)?.[0] ?? 'an argument is wrong')
        .replace(/\.$/, '')
        .replace('Allowed choices are', 'it must be one of')
    case 'commander.excessArguments':
      return `there are too many arguments for ${name}`
    default:
      return 'these arguments are not understood'
  }
}
