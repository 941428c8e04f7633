// The only script of the page. Text from documents is inserted with textContent, never as markup.
"use strict";

const element = (id) => document.getElementById(id);
let language = navigator.language.startsWith("zh") ? "zh" : "en";
// The `after` parameters of the next pages.
let nextGroup = 0;
let nextStory;
let nextSource;
// Names of the collections that have stories.
let withStories = new Set();

// Texts in English and Chinese.
const texts = {
  documents: ["documents", "篇文档"], groups: ["groups", "个分组"], removed: ["near-duplicates", "篇重复文档"], seq: ["last change number", "最新变更序号"],
  new: ["new", "新文档"], exact: ["copy", "完全相同"], near: ["near-duplicate", "近似重复"], updated: ["known id", "已有 id"],
  none: ["No collections yet. To create one: curl -X PUT -H X-Twinprint:1 http://…/v1/collections/NAME", "还没有集合。创建方法：curl -X PUT -H X-Twinprint:1 http://…/v1/collections/NAME"],
  of: ["of", "与"], bits: ["bits differ", "位不同"], jaccard: ["Jaccard", "Jaccard 相似度"], group: ["group", "组"], show: ["show", "展开"],
  ended: ["ended", "已结束"], members: ["show documents", "显示文档"], untitled: ["(no title)", "（无标题）"],
  missed: ["near miss", "略低于阈值"], limited: ["not all candidates were compared", "部分候选文档未比较"],
  weights: ["features with different weights", "权重不同的特征"],
};
const translated = (key) => texts[key][language === "zh" ? 1 : 0];

function node(name, text, className) {
  const created = document.createElement(name);
  if (text !== undefined) created.textContent = text;
  if (className) created.className = className;
  return created;
}

function row(...cells) {
  const created = node("tr");
  for (const cell of cells) {
    const td = node("td", undefined, typeof cell === "number" ? "number" : "");
    td.append(typeof cell === "number" ? cell.toLocaleString(language) : cell);
    created.append(td);
  }
  return created;
}

function translate() {
  document.documentElement.lang = language;
  for (const labelled of document.querySelectorAll("[data-en]")) labelled.textContent = labelled.dataset[language];
}

function showProblem(problem) {
  element("problem").hidden = !problem;
  element("problem").textContent = problem || "";
}

// Calls the API and returns its JSON. Throws the detail of a problem.
async function call(path, body) {
  const headers = {};
  if (element("token").value) headers.Authorization = "Bearer " + element("token").value;
  if (body) headers["Content-Type"] = "application/json";
  const response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail || response.statusText);
  return answer;
}

const collectionPath = () => "/v1/collections/" + encodeURIComponent(element("collection").value);

// Runs `work` and shows its error, if any.
async function guarded(work) {
  try {
    showProblem("");
    await work();
  } catch (error) {
    showProblem(error.message);
  }
}

async function loadCollections() {
  const list = (await call("/v1/collections")).collections;
  withStories = new Set(list.filter((collection) => collection.settings?.stories).map((collection) => collection.name));
  const chosen = element("collection").value || location.hash.slice(1);
  element("collection").replaceChildren(...list.map((collection) => {
    const option = node("option", collection.name);
    option.selected = collection.name === chosen;
    return option;
  }));
  if (list.length === 0) return showProblem(translated("none"));
  await loadCollection();
}

async function loadCollection() {
  location.hash = element("collection").value;
  nextSource = undefined;
  element("sources").replaceChildren();
  const stats = await loadSources();
  const counts = [["documents", stats.documents], ["groups", stats.groups], ["removed", stats.documents - stats.groups], ["seq", stats.seq]];
  element("counts").replaceChildren(...counts.map(([word, value]) => {
    const count = node("div");
    count.append(node("b", value.toLocaleString(language)), translated(word));
    return count;
  }));
  if (stats.refusal) showProblem(stats.refusal);
  await reloadGroups();
  element("storied").hidden = !withStories.has(element("collection").value);
  if (!element("storied").hidden) await reloadStories();
}

async function loadSources() {
  const query = new URLSearchParams({ limit: 50 });
  if (nextSource) query.set("after", nextSource);
  const stats = await call(collectionPath() + "/stats?" + query);
  element("sources").append(...stats.sources.map((source) => row(source.source, source.documents, source.new, source.exact, source.near)));
  nextSource = stats.next_after;
  element("more-sources").hidden = nextSource === undefined;
  return stats;
}

async function reloadStories() {
  nextStory = undefined;
  element("stories").replaceChildren();
  await loadStories();
}

async function loadStories() {
  const query = new URLSearchParams({ min_size: element("least").value || 1, limit: 10 });
  if (element("state").value) query.set("state", element("state").value);
  if (nextStory) query.set("after", nextStory);
  const list = await call(collectionPath() + "/stories?" + query);
  element("stories").append(...list.stories.map(storyItem));
  nextStory = list.next_after;
  element("further").hidden = nextStory === undefined;
}

const formatDay = (time) => time && new Date(time).toLocaleDateString(language, { dateStyle: "medium", timeZone: "UTC" });

function storyItem(story) {
  const item = node("li");
  const title = node("h3", story.title || translated("untitled"));
  const days = story.first && [...new Set([formatDay(story.first), formatDay(story.last)])].join(" – ");
  const facts = [`${story.size.toLocaleString(language)} ${translated("documents")}`, days, story.ended && translated("ended")];
  const topic = node("p", undefined, "topic");
  topic.append(...story.topic.map((term) => node("span", term.term)));
  const button = node("button", translated("members"));
  button.type = "button";
  button.onclick = () => guarded(() => loadStoryMembers(story.story_id, item, button));
  item.append(title, node("p", facts.filter(Boolean).join(" · "), "hint"), topic, button);
  return item;
}

// Appends a page of a story's documents to `place`, and replaces `button`.
async function loadStoryMembers(id, place, button, after) {
  const page = await call(collectionPath() + `/stories/${id}?limit=50` + (after ? `&after=${after}` : ""));
  const list = node("ul");
  list.append(...page.members.map((member) => node("li", member.url ? `${member.id} · ${member.url}` : member.id)));
  button.remove();
  place.append(list);
  appendMoreButton(place, page.next_after, (more) => loadStoryMembers(id, place, more, page.next_after));
}

// Appends a button that loads the next page of a list, if there is one.
function appendMoreButton(place, next, work) {
  if (next === undefined) return;
  const more = node("button", element("more").dataset[language]);
  more.type = "button";
  more.onclick = () => guarded(() => work(more));
  place.append(more);
}

async function reloadGroups() {
  nextGroup = 0;
  element("groups").replaceChildren();
  await loadGroups();
}

async function loadGroups() {
  const list = await call(collectionPath() + `/groups?after=${nextGroup}&min_size=${element("size").value || 1}&limit=20`);
  for (const group of list.groups) {
    const button = node("button", translated("show"));
    button.type = "button";
    button.onclick = () => guarded(() => showMembers(group, button));
    element("groups").append(row(group.group_id, group.size, group.canonical.id, button));
  }
  nextGroup = list.next_after;
  element("more").hidden = nextGroup === undefined;
}

async function showMembers(group, button) {
  const cell = node("td");
  cell.colSpan = 4;
  const below = node("tr");
  below.append(cell);
  await loadMembers(group.group_id, cell);
  button.closest("tr").after(below);
  button.remove();
}

// Appends a page of a group's members to `place`, and replaces `button`, if given.
async function loadMembers(id, place, button, after) {
  const page = await call(collectionPath() + `/groups/${id}?limit=100` + (after ? `&after=${after}` : ""));
  const list = node("ul");
  for (const member of page.members || []) {
    const item = node("li");
    item.append(compareButton(page.leader.id, member.id), " " + (member.url || ""));
    list.append(item);
  }
  if (button) button.remove();
  place.append(list);
  appendMoreButton(place, page.next_after, (more) => loadMembers(id, place, more, page.next_after));
}

// A button with the id of document `b` that compares it with document `a`.
function compareButton(a, b) {
  const button = node("button", b);
  button.type = "button";
  button.onclick = () => {
    element("a").value = a;
    element("b").value = b;
    guarded(compare);
    element("comparison").scrollIntoView({ behavior: "smooth", block: "center" });
  };
  return button;
}

async function checkText() {
  const document = { id: "text from the page", text: element("text").value };
  const [answer, similar] = await Promise.all([call(collectionPath() + "/check", document), call(collectionPath() + "/similar", { document })]);
  const line = node("p");
  line.append(node("span", translated(answer.verdict), "verdict"));
  if (answer.best) {
    const jaccard = answer.best.jaccard === undefined ? "" : ` · ${translated("jaccard")} ${answer.best.jaccard.toFixed(3)}`;
    line.append(` ${translated("of")} ${answer.best.id} · ${answer.best.hamming} ${translated("bits")}${jaccard} · ${translated("group")} ${answer.group_id}`);
  }
  element("answer").replaceChildren(line, hitList(similar));
}

// A list of the leaders similar to the checked text: duplicates, and near misses marked as such.
function hitList(similar) {
  const list = node("ul");
  for (const hit of similar.hits) {
    const facts = [`${hit.hamming} ${translated("bits")}`, hit.jaccard !== undefined && `${translated("jaccard")} ${hit.jaccard.toFixed(3)}`,
      `${translated("group")} ${hit.group_id}`, !hit.duplicate && translated("missed")];
    const item = node("li", hit.id + " · " + facts.filter(Boolean).join(" · "));
    if (!hit.duplicate) item.className = "hint";
    list.append(item);
  }
  const notes = [similar.found > similar.hits.length && `${similar.hits.length} / ${similar.found.toLocaleString(language)}`, similar.limited && translated("limited")];
  if (notes.some(Boolean)) list.append(node("li", notes.filter(Boolean).join(" · "), "hint"));
  return list;
}

const segmenter = new Intl.Segmenter("zh", { granularity: "word" });

// The text, with words marked that are not in `others`.
function markedText(text, others) {
  const created = node("div");
  for (const { segment, isWordLike } of segmenter.segment(text)) {
    created.append(!isWordLike || others.has(segment.toLowerCase()) ? segment : node("mark", segment));
  }
  return created;
}

const vocabulary = (text) => new Set(Array.from(segmenter.segment(text), (item) => item.segment.toLowerCase()));

async function compare() {
  const [a, b] = [element("a").value, element("b").value];
  const pair = `a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`;
  const [difference, left, right] = await Promise.all([
    call(collectionPath() + "/explain?" + pair),
    call(collectionPath() + "/documents/" + encodeURIComponent(a)),
    call(collectionPath() + "/documents/" + encodeURIComponent(b)),
  ]);
  const figures = node("p", `${difference.hamming} ${translated("bits")} · ${translated("jaccard")} ${difference.jaccard.toFixed(4)} (${difference.shingles})`);
  const sideBySide = node("div", undefined, "texts");
  sideBySide.append(markedText(left.text, vocabulary(right.text)), markedText(right.text, vocabulary(left.text)));
  const features = difference.explanation.features.slice(0, 30);
  const weights = node("p", features.length ? translated("weights") + ": " + features.map((feature) => feature.feature).join(", ") : "", "hint");
  element("comparison").replaceChildren(figures, sideBySide, weights);
}

function on(id, type, work) {
  element(id).addEventListener(type, (event) => {
    event.preventDefault();
    guarded(work);
  });
}

on("collection", "change", loadCollection);
on("access", "submit", loadCollections);
on("token", "change", loadCollections);
on("ask", "submit", checkText);
on("filter", "submit", reloadGroups);
on("more", "click", loadGroups);
on("which", "submit", reloadStories);
on("state", "change", reloadStories);
on("further", "click", loadStories);
on("more-sources", "click", loadSources);
on("pair", "submit", compare);
on("language", "click", async () => {
  language = language === "zh" ? "en" : "zh";
  translate();
  if (element("collection").value) await loadCollection();
});
translate();
guarded(loadCollections);
