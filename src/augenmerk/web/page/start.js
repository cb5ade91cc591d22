/** Starts an exported page: its models answer in the browser. */

import { find } from "./dom.js";
import { startPage } from "./main.js";
import { Model } from "./models.js";

const pageData = JSON.parse(find("page-data").textContent);
startPage(pageData, { makeModel: (data, number) => new Model(data, number, pageData.engine) });
