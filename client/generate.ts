import { mkdir, writeFile } from 'node:fs/promises'
import { createClient } from '@hey-api/openapi-ts'
import { buildApp } from '../api/app.ts'
import { openReadDatabase } from '../api/queries/read-database.ts'
import { createLogger } from '../shared/log.ts'

/** Writes the OpenAPI document and the client that is made from it into a folder. Reads no database. */
export async function generateClient(folder: string, version: string): Promise<void> {
  const database = openReadDatabase('postgres://127.0.0.1:1/none', { onError: () => undefined })
  const app = await buildApp({
    database,
    log: createLogger('client', 'silent'),
    version,
    settings: { API_CORS_ORIGINS: '*', API_RATE_LIMIT: null, API_TRUST_PROXY: [] },
  })
  await app.ready()
  const input = `${folder}/openapi.json`
  await mkdir(folder, { recursive: true })
  await writeFile(input, `${JSON.stringify(app.swagger(), null, 2)}\n`)
  await app.close()
  await database.close()
  await createClient({
    input,
    output: {
      path: `${folder}/generated`,
      // The generator's own code does not pass this project's compiler options.
      header: ['// Made by `npm run client` from the OpenAPI document.', '// @ts-nocheck'],
      importFileExtension: '.js',
    },
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
    logs: { level: 'silent', file: false },
  })
}
