import t from 'tap'
import { joinValues } from '../../helpers/tap-arguments.ts'

void t.test('the value of an option is no file', (t) => {
  t.same(joinValues(['-g', 'a name', 'x.test.ts']), ['--grep=a name', 'x.test.ts'])
  t.same(joinValues(['x.test.ts', '--reporter', 'tap']), ['x.test.ts', '--reporter=tap'])
  t.same(joinValues(['--grep=a name', '-g']), ['--grep=a name', '-g'])
  t.end()
})
