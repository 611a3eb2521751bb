import t from 'tap'
import { tapFailures } from '../../helpers/tap-failures.ts'

const OUTPUT = `TAP version 14
# Subtest: test/unit/paging.test.ts
    # Subtest: pages
        ok 1 - the first
        not ok 2 - the last
          ---
          diff: |
            --- expected
            +++ actual
            -2
            +1
          ...
        
        1..2
    not ok 1 - pages # time=60.871ms
      ---
      at:
        lineNumber: 2
      ...
    
    # Subtest: slow
        1..0
    not ok 2 - slow # time=504.073ms
      ---
      expired: slow
      ...
    
    1..2
not ok 1 - test/unit/paging.test.ts # time=633.334ms
  ---
  exitCode: 1
  ...

# Subtest: test/unit/silent.test.ts
    ok 1 - not ok, in name only
    1..1
not ok 2 - test/unit/silent.test.ts # time=1ms
  ---
  exitCode: null
  signal: SIGKILL
  ...

# Subtest: test/unit/fine.test.ts
    ok 1 - fine
    1..1
ok 3 - test/unit/fine.test.ts # time=1ms
1..3
# { total: 6, pass: 3, fail: 3 }
`

await t.test('each failed assertion once, with its path and what was wrong', (t) => {
  t.strictSame(tapFailures(OUTPUT), [
    [
      'test/unit/paging.test.ts > pages > the last',
      '  diff: |',
      '    --- expected',
      '    +++ actual',
      '    -2',
      '    +1',
    ].join('\n'),
    'test/unit/paging.test.ts > slow\n  expired: slow',
    'test/unit/silent.test.ts\n  exitCode: null\n  signal: SIGKILL',
  ])
  t.strictSame(tapFailures(''), [])
  t.end()
})

/** As tap writes it where a file's time is over. */
const ENDED = `TAP version 14
# Subtest: test/e2e/slow.test.ts
    # Subtest: it takes its time
        not ok 1 - timeout!
          ---
          expired: TAP
          ...
        
        1..1
    1..1
# Subtest: test/e2e/next.test.ts
    # Subtest: comes after it
        not ok 1 - is wrong
        1..1
    not ok 1 - comes after it # time=1ms
    1..1
not ok 2 - test/e2e/next.test.ts # time=2ms
1..2
`

await t.test('a test that ended without a result is not above those that come after it', (t) => {
  t.strictSame(
    tapFailures(ENDED).map((failure) => failure.split('\n')[0]),
    [
      'test/e2e/slow.test.ts > it takes its time > timeout!',
      'test/e2e/next.test.ts > comes after it > is wrong',
    ],
  )
  t.end()
})
