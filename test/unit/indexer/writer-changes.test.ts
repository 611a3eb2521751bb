import t from 'tap'
import { WriterChanges } from '../../../indexer/writer-changes.ts'

void t.test('a step is left if the next writer does not write it', (t) => {
  const writers = new WriterChanges(1)
  t.notOk(writers.leftAStep(1, 4, 0), 'the writer is the same')
  t.notOk(writers.leftAStep(2, 4, 1_000), 'the writer has just come')
  t.notOk(writers.leftAStep(2, 4, 2_000))
  t.ok(writers.leftAStep(2, 4, 2_001))
  t.end()
})

void t.test('a writer that changed before the first look is noticed', (t) => {
  const writers = new WriterChanges(1)
  writers.leftAStep(2, 1, 0)
  t.ok(writers.leftAStep(2, 1, 5_000))
  t.end()
})

void t.test('no step is left if the writer goes on', (t) => {
  const writers = new WriterChanges(1)
  writers.leftAStep(2, 4, 0)
  t.notOk(writers.leftAStep(2, 5, 5_000), 'the step was written')
  t.notOk(writers.leftAStep(2, undefined, 6_000))
  t.notOk(writers.leftAStep(3, undefined, 7_000), 'nothing waits when another one comes')
  t.notOk(writers.leftAStep(3, 6, 70_000), 'a step that came later')
  t.end()
})
