import { fileURLToPath } from 'node:url'
import { packageVersion } from '../shared/version.ts'
import { generateClient } from './generate.ts'

await generateClient(fileURLToPath(new URL('.', import.meta.url)), packageVersion())
