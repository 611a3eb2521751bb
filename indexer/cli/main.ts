import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { ConfigError } from '../../shared/errors.ts'
import { describeFailure } from '../../shared/program.ts'
import { runAudit } from './audit.ts'
import { runDigest } from './digest.ts'
import { runMigrate } from './migrate.ts'
import { runReindex, runVerify } from './reindex.ts'
import { runReplay } from './replay.ts'
import { runStatus } from './status.ts'

const block = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('a block is a whole number from 0')
  return Number(text)
}

const program = new Command('ops')
  .description(
    'Operators’ commands of the loan activity service. Exit codes: 0 done and well, 1 failed, interrupted or something differs, 2 wrong use or configuration.',
  )
  .exitOverride()
  .showHelpAfterError('(--help tells more)')

program.command('migrate').description('bring the database’s schema up to this version').action(runMigrate)
program
  .command('status')
  .description('what the database knows of every network; 1 when one is not followed')
  .option('--json', 'as JSON')
  .action(runStatus)
program
  .command('replay')
  .description('build the read model again from the log; readers are served throughout')
  .option('--restart', 'begin anew instead of going on with an interrupted replay')
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
  .description('compare every loan with its contract at the indexed block; 1 when anything differs')
  .option('--network <key>', 'one network (default: all)')
  .option('--json', 'as JSON')
  .action(runAudit)
program
  .command('digest')
  .description('a digest over the whole read model')
  .option('--json', 'as JSON')
  .action(runDigest)

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  else {
    console.error(`ops: ${describeFailure(error)}`)
    process.exitCode = error instanceof ConfigError ? 2 : 1
  }
}
