import t from 'tap'
import { runOps } from '../../../helpers/run-ops.ts'

void t.test('wrong arguments of ops are one line in our words', async (t) => {
  const cases: [args: string[], line: string][] = [
    [['nonsense'], 'there is no command nonsense'],
    [['stauts'], 'there is no command stauts: do you mean status?'],
    [['vouchers', 'imprt', 'x'], 'there is no command imprt: do you mean import?'],
    [['status', '--jsn'], 'there is no option --jsn: do you mean --json?'],
    [['status', 'now'], 'there are too many arguments for status'],
    [['reindex'], '--network <key> is missing'],
    [['reindex', '--network'], '--network <key> lacks its value'],
    [['reindex', '--network', 'evm:1', '--from', 'x'], 'a block is a whole number from 0, not "x"'],
    [['vouchers', 'import'], 'the argument <file> is missing'],
    [['dead-letters', 'show', '0'], 'an id or a limit is a whole number from 1, not "0"'],
    [['dead-letters', 'drop', 'all', '1'], '`all` stands alone'],
  ]
  await Promise.all(
    cases.map(async ([args, line]) => {
      const ran = await runOps(t, { databaseUrl: '', networks: {} }, ...args)
      t.strictSame(ran, { code: 2, out: '', err: `ops: ${line} (--help tells more)\n` }, args.join(' '))
    }),
  )
})

void t.test('no command at all is answered with the help', async (t) => {
  t.match(await runOps(t, { databaseUrl: '', networks: {} }), { code: 2, out: '', err: /^Usage: ops / })
})
