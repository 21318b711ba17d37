/* SPDX-License-Identifier: MIT */
/*
 * net/net.c - network namespaces and devices, the writer's side.
 *
 * Each is a run of per-CPU cells and a directory object. Making one costs a few
 * allocations whatever else there is: no unit is touched, no list is walked but
 * that of the namespace's own devices when the caller chooses an interface
 * index.
 *
 * Handles are private to the writer's process. net->lock guards the list of
 * devices; the locks of the directory and of the allocator are taken inside it.
 */
#include <statplane/net.h>

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <statplane/reader.h>

#include "mib/schema.h"
#include "net/handle.h"
#include "net/kernel_schema.h"
#include "plane/plane.h"

#define DEV_NAME_MAX 15

struct sp_net {
	struct sp_plane *plane;
	uint64_t id;
	sp_percpu_t off;
	pthread_mutex_t lock;
	struct sp_netdev *devs; /* newest first */
	uint32_t max_ifindex;   /* the highest ever */
};

struct sp_netdev {
	struct sp_net *net;
	struct sp_netdev *next;
	struct sp_netdev **prev_next;
	uint64_t id;
	sp_percpu_t off;
	uint32_t ifindex;
};

/* The option's value, or @fallback where the caller's struct ends before it or
 * has 0. */
#define OPT(opts, field, fallback)                                             \
	((opts) &&                                                             \
			 (opts)->sz >= offsetof(struct sp_net_opts, field) +   \
					       sizeof((opts)->field) &&        \
			 (opts)->field                                         \
		 ? (opts)->field                                               \
		 : (fallback))

/* The name, the schema and the cells of @object; undo with free_cells(). */
static int prepare(struct sp_plane *plane, const char *name, size_t name_max,
		   const struct sp_mib_schema *schema, enum sp_schema_tag tag,
		   size_t cells_len, struct sp_object *object)
{
	int err;

	if (strlen(name) > name_max)
		return -EINVAL;
	memcpy(object->name, name, strlen(name) + 1);
	object->nr_cells = (uint32_t)(cells_len / 8);
	err = sp_schema_put_own(plane, schema, tag, &object->schema);
	if (err)
		return err;
	return sp_percpu_alloc(plane, cells_len, 64, &object->cells_off);
}

int sp_net_create(struct sp_plane *plane, const char *name,
		  const struct sp_net_opts *opts, struct sp_net **ret_net)
{
	struct sp_object object = {.type = SP_OBJECT_NETNS};
	struct sp_net *net;
	int err;

	object.attr[SP_NET_ATTR_FORWARDING] = OPT(opts, forwarding, 2);
	object.attr[SP_NET_ATTR_DEFAULT_TTL] = OPT(opts, default_ttl, 64);
	net = calloc(1, sizeof(*net));
	if (!net)
		return -ENOMEM;
	err = prepare(plane, name, SP_OBJECT_NAME_MAX, &sp_net_schema,
		      SP_SCHEMA_NET, sizeof(struct sp_net_cells), &object);
	if (err)
		goto err_free;
	net->plane = plane;
	net->off = object.cells_off;
	err = sp_dir_add(plane, &object, &net->id);
	if (err)
		goto err_cells;
	pthread_mutex_init(&net->lock, NULL);
	*ret_net = net;
	return 0;

err_cells:
	sp_percpu_free(plane, net->off, sizeof(struct sp_net_cells));
err_free:
	free(net);
	return err;
}

void sp_net_destroy(struct sp_net *net)
{
	if (!net)
		return;
	while (net->devs)
		sp_netdev_destroy(net->devs);
	sp_dir_remove(net->plane, net->id);
	sp_percpu_free(net->plane, net->off, sizeof(struct sp_net_cells));
	pthread_mutex_destroy(&net->lock);
	free(net);
}

/* Give @dev its index. Return: 0, -EEXIST, -ENOSPC. Under net->lock. */
static int choose_ifindex(struct sp_net *net, struct sp_netdev *dev,
			  uint32_t ifindex)
{
	if (ifindex == 0) {
		if (net->max_ifindex == INT32_MAX)
			return -ENOSPC;
		ifindex = net->max_ifindex + 1;
	} else if (ifindex <= net->max_ifindex) {
		for (const struct sp_netdev *d = net->devs; d; d = d->next)
			if (d->ifindex == ifindex)
				return -EEXIST;
	}
	dev->ifindex = ifindex;
	return 0;
}

/* Under net->lock. */
static void link_dev(struct sp_net *net, struct sp_netdev *dev)
{
	dev->net = net;
	dev->next = net->devs;
	dev->prev_next = &net->devs;
	if (dev->next)
		dev->next->prev_next = &dev->next;
	net->devs = dev;
	if (dev->ifindex > net->max_ifindex)
		net->max_ifindex = dev->ifindex;
}

static void unlink_dev(struct sp_netdev *dev)
{
	*dev->prev_next = dev->next;
	if (dev->next)
		dev->next->prev_next = dev->prev_next;
}

static uint64_t mac_attr(const uint8_t *mac)
{
	uint64_t attr = 0;

	for (int i = 0; mac && i < 6; i++)
		attr = attr << 8 | mac[i];
	return attr;
}

/* As a kernel's: a file is named after it. */
static bool dev_name_ok(const char *name)
{
	return strcmp(name, ".") && strcmp(name, "..") &&
	       !strpbrk(name, " \t\n\v\f\r:");
}

/* Under net->lock. */
static int add_dev(struct sp_net *net, struct sp_netdev *dev, const char *name,
		   uint32_t ifindex, const uint8_t *mac)
{
	struct sp_object object = {
		.type = SP_OBJECT_NETDEV,
		.parent = net->id,
	};
	int err = choose_ifindex(net, dev, ifindex);

	if (err)
		return err;
	object.attr[SP_NETDEV_ATTR_IFINDEX] = dev->ifindex;
	object.attr[SP_NETDEV_ATTR_MAC] = mac_attr(mac);
	err = prepare(net->plane, name, DEV_NAME_MAX, &sp_netdev_schema,
		      SP_SCHEMA_NETDEV, sizeof(struct sp_netdev_cells),
		      &object);
	if (err)
		return err;
	dev->off = object.cells_off;
	err = sp_dir_add(net->plane, &object, &dev->id);
	if (err) {
		sp_percpu_free(net->plane, dev->off,
			       sizeof(struct sp_netdev_cells));
		return err;
	}
	link_dev(net, dev);
	return 0;
}

int sp_netdev_create(struct sp_net *net, const char *name, uint32_t ifindex,
		     const uint8_t *mac, struct sp_netdev **ret_dev)
{
	struct sp_netdev *dev;
	int err;

	if (!dev_name_ok(name) || ifindex > INT32_MAX)
		return -EINVAL;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	pthread_mutex_lock(&net->lock);
	err = add_dev(net, dev, name, ifindex, mac);
	pthread_mutex_unlock(&net->lock);
	if (err) {
		free(dev);
		return err;
	}
	*ret_dev = dev;
	return 0;
}

void sp_netdev_destroy(struct sp_netdev *dev)
{
	struct sp_net *net;

	if (!dev)
		return;
	net = dev->net;
	pthread_mutex_lock(&net->lock);
	unlink_dev(dev);
	pthread_mutex_unlock(&net->lock);
	sp_dir_remove(net->plane, dev->id);
	sp_percpu_free(net->plane, dev->off, sizeof(struct sp_netdev_cells));
	free(dev);
}

struct sp_plane *sp_net_plane(const struct sp_net *net)
{
	return net->plane;
}

uint64_t sp_net_id(const struct sp_net *net)
{
	return net->id;
}

sp_percpu_t sp_net_off(const struct sp_net *net)
{
	return net->off;
}

sp_percpu_t sp_netdev_off(const struct sp_netdev *dev)
{
	return dev->off;
}
